#!/bin/bash
# Boots systemd over this machine's files, which it cannot change: in namespaces of its own, with a
# layer in memory above them. FOLDER has app.service and app/, which becomes /srv/app/current; TREE
# is this checkout, which is seen at /neverblock. Started by booted_systemd.rb.
set -eu
folder=$1 tree=$2

group=/sys/fs/cgroup
[ -e $group/cgroup.procs ] || group=$group/unified
mkdir -p "$group/$(basename "$folder")"
echo $$ >"$group/$(basename "$folder")/cgroup.procs"

# shellcheck disable=SC2016 # expanded by the inner shell
exec unshare --mount --pid --fork --kill-child --net --uts --ipc --cgroup --propagation private \
    bash -euc '
    folder=$1 tree=$2
    mkdir "$folder/layer"
    mount -t tmpfs tmpfs "$folder/layer"
    mkdir "$folder/layer/up" "$folder/layer/work" "$folder/root"
    mount -t overlay overlay \
        -o lowerdir=/,upperdir="$folder/layer/up",workdir="$folder/layer/work" "$folder/root"
    cd "$folder/root"
    mkdir -p neverblock srv/app/current
    mount --bind "$tree" neverblock
    cp -r "$folder/app/." srv/app/current/
    mount -t proc proc proc
    mount -t sysfs sysfs sys
    mount -t cgroup2 cgroup2 sys/fs/cgroup
    mount -t tmpfs tmpfs run
    mount -t tmpfs tmpfs tmp
    mount -t tmpfs tmpfs dev
    mkdir dev/shm
    chmod 1777 tmp dev/shm
    for name in null zero full random urandom; do
        touch dev/$name
        mount --bind /dev/$name dev/$name
    done
    ln -s null dev/console
    ln -s /proc/self/fd dev/fd

    # One unit and what it names; nothing of the machine itself.
    rm -rf etc/systemd/system
    mkdir -p etc/systemd/system
    for wants in lib/systemd/system/*.wants; do find "$wants" -mindepth 1 -delete; done
    cp "$folder/app.service" etc/systemd/system/
    printf "[Unit]\nWants=basic.target\n" >etc/systemd/system/boot.target
    tr -d - <proc/sys/kernel/random/uuid >etc/machine-id
    chroot . useradd --system --home-dir /srv/app app || chroot . id app
    ip link set lo up
    exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 chroot . \
        /lib/systemd/systemd --system --unit=boot.target --show-status=no
' boot "$folder" "$tree"
