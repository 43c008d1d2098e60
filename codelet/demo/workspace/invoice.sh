#!/bin/sh
# Adds up an order: lines of `item,pence`, comments with #. Prints the total in pounds.
set -eu
total=0
while IFS=, read -r item pence; do
  case $item in '' | \#*) continue ;; esac
  total=$((total + pence))
done < "$1"
printf '%d.%02d\n' $((total / 100)) $((total % 100))
