# The mirror of Debian's main archive, as apt knows it. The label is only known once lists were
# fetched, hence the second way. Sourced by bin/matrix and bin/libraries.
# shellcheck shell=bash
debian_mirror() {
    # shellcheck disable=SC2016 # the fields are apt's
    apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        sed -n 's/^Debian //p' | head -n 1 | grep . ||
        cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v '^ *#' |
        grep -oE 'https?://[^] ]+/debian/?( |$)' | tr -d ' ' | head -n 1 | grep .
}
