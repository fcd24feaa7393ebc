#!/usr/bin/env bash
# A bare Debian 12 as a tar on standard output, with the configuration of this machine's mirror:
# what stands in for an image that no registry is asked for.
set -u -o pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck disable=SC1091 # it is checked by itself
. "$here/debian_mirror.sh"

fail() { echo "debian_base.sh: $*" >&2; exit 1; }

folder=$(mktemp -d "${TMPDIR:-/tmp}/debian-base.XXXXXX") || fail "no temporary folder"
trap 'rm -rf --one-file-system "$folder"' EXIT
source=$(debian_mirror) || fail "apt is configured with no Debian mirror"
unshare --mount --propagation private \
    debootstrap --variant=minbase bookworm "$folder/root" "$source" </dev/null >"$folder/log" 2>&1 ||
    { tail -n 15 "$folder/log" >&2; fail "debootstrap failed"; }
bring_configuration "$folder/root"
tar -C "$folder/root" -c .
