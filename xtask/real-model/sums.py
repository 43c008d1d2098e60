"""sums.py FOLDER NAME...: the sha256 of each file that is there, as `sum  name`."""
import hashlib, os, sys

folder = sys.argv[1]
for name in sys.argv[2:]:
    path = os.path.join(folder, name)
    if os.path.isfile(path):
        total = hashlib.sha256()
        with open(path, "rb") as source:
            while piece := source.read(1 << 20):
                total.update(piece)
        print(f"{total.hexdigest()}  {name}")
