#!/bin/sh
# Runs every order in data/ and compares its total with the one beside it.
cd "$(dirname "$0")"
failed=0
for order in data/*.csv; do
  want=$(cat "${order%.csv}.total")
  got=$(sh invoice.sh "$order")
  if [ "$got" = "$want" ]; then
    echo "test $order ... ok"
  else
    echo "test $order ... FAILED: expected $want, got $got"
    failed=$((failed + 1))
  fi
done
if [ "$failed" -gt 0 ]; then
  echo "test result: FAILED. $failed failed"
  exit 1
fi
echo "test result: ok. all passed"
