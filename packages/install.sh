#!/bin/sh
# Installs codelet @VERSION@ into ~/.local/bin, or into the folder that CODELET_INTO names, without becoming root:
#     curl -fsSL @URL@/install.sh | sh
# CODELET_FROM is another address, or a folder, in which the archives are. What comes must have the hash that stands here.
set -eu

# `packages/fill` puts a line in here for each archive: its hash, two blanks, its name.
hashes='@HASHES@'

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

# All of it is read before any of it runs: a download that breaks off does nothing.
main() {
    from=${CODELET_FROM:-@URL@}
    into=${CODELET_INTO:-${HOME:?CODELET_INTO has to name a folder where HOME is not set}/.local/bin}
    case $(uname -s)-$(uname -m) in
    Linux-x86_64 | Linux-amd64) target=x86_64-unknown-linux-musl ;;
    Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
    Darwin-arm64) target=aarch64-apple-darwin ;;
    Darwin-x86_64) target=x86_64-apple-darwin ;;
    *) fail "there is no build for $(uname -s) on $(uname -m); use cargo install codelet" ;;
    esac
    archive=codelet-@VERSION@-$target.tar.gz
    wanted=$(printf '%s\n' "$hashes" | sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p")
    [ -n "$wanted" ] || fail "not installed: no hash of $archive is known"

    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    fetch "$from/$archive" "$scratch/$archive"
    found=$(hash_of "$scratch/$archive")
    [ "$found" = "$wanted" ] || fail "$archive is not the released file: its hash is $found, expected $wanted"

    tar -xzf "$scratch/$archive" -C "$scratch" codelet || fail "could not unpack $archive"
    mkdir -p "$into"
    # Put in its place at once, so that one that is running keeps its file.
    cp "$scratch/codelet" "$into/.codelet.$$"
    chmod 755 "$into/.codelet.$$"
    mv -f "$into/.codelet.$$" "$into/codelet"
    echo "installed: $into/codelet, $("$into/codelet" --version)"
    case :$PATH: in
    *:"$into":*) ;;
    *) echo "Add $into to PATH to run it as codelet." ;;
    esac
}

fetch() {
    case $1 in
    https://*)
        if command -v curl >/dev/null; then
            curl -fsSL --proto '=https' -o "$2" "$1"
        elif command -v wget >/dev/null; then
            wget -q -O "$2" "$1"
        else
            fail 'curl or wget is required'
        fi
        ;;
    *://*) fail "$1 is not downloaded: only https is allowed" ;;
    *) cp "$1" "$2" ;;
    esac || fail "could not download $1"
}

hash_of() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail 'sha256sum or shasum is required to check the download'
    fi
}

main
