# The mirror of Debian's main archive, as apt knows it. The label is only known once lists were
# fetched, hence the second way. Sourced by bin/matrix, bin/libraries and debian_base.sh.
# shellcheck shell=bash
debian_mirror() {
    # shellcheck disable=SC2016 # the fields are apt's
    apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        sed -n 's/^Debian //p' | head -n 1 | grep . ||
        cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v '^ *#' |
        grep -oE 'https?://[^] ]+/debian/?( |$)' | tr -d ' ' | head -n 1 | grep .
}

# What apt, RubyGems, Bundler, npm and the resolver need to reach the same places from inside.
bring_configuration() {
    local chroot=$1 file
    for file in /etc/resolv.conf /etc/hosts \
        /etc/apt/apt.conf /etc/apt/apt.conf.d /etc/apt/auth.conf /etc/apt/auth.conf.d \
        /usr/local/share/ca-certificates /etc/gemrc /etc/npmrc ~/.gemrc ~/.npmrc ~/.bundle/config \
        "$(npm config get globalconfig 2>/dev/null || :)"; do
        [ -e "${file:-/nowhere}" ] || continue
        mkdir -p "$chroot$(dirname "$file")"
        cp -rL "$file" "$chroot$(dirname "$file")/"
    done
    # Before the package ca-certificates is there, only this file can vouch for an https mirror.
    local certificates=/etc/ssl/certs/ca-certificates.crt
    if [ -e "$certificates" ] && [ ! -e "$chroot$certificates" ]; then
        mkdir -p "$chroot/etc/ssl/certs"
        cp -L "$certificates" "$chroot/etc/ssl/certs/"
    fi
}
