# Functions about cgroups, for the scripts that run containers. Both versions of cgroups are known.

# Prints what this machine lacks for containers; nothing if it has all.
missing_isolation() {
    local hierarchy
    if ((EUID != 0)); then
        echo "root"
    elif ! unshare --mount --net --pid --fork true 2>/dev/null; then
        echo "namespaces, which this machine refuses"
    else
        for hierarchy in $(hierarchies); do
            [[ -w $hierarchy ]] || echo "cgroups, and $hierarchy cannot be written"
        done | head -n 1
    fi
}

# Prints the mount points of the cgroup hierarchies: one with cgroup v2, else one for each controller.
hierarchies() {
    if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
        echo /sys/fs/cgroup
    else
        printf '%s\n' /sys/fs/cgroup/*
    fi
}

# Makes the cgroup NAME for Pods, and NAME/daemons for this process and its children.
make_cgroups() {
    local name=$1 hierarchy cgroup file controller controllers
    for hierarchy in $(hierarchies); do
        for cgroup in "$hierarchy" "$hierarchy/$name"; do
            mkdir -p "$cgroup"
            # With cgroup v2, a child has only the controllers that its parent passes on.
            [[ -e $cgroup/cgroup.controllers ]] || continue
            read -ra controllers <"$cgroup/cgroup.controllers" || true
            for controller in "${controllers[@]}"; do
                echo "+$controller" >"$cgroup/cgroup.subtree_control"
            done
        done
        mkdir -p "$hierarchy/$name/daemons"
        # With cgroup v1, a new cpuset is empty, and no process can join it.
        for cgroup in "$hierarchy/$name" "$hierarchy/$name/daemons"; do
            for file in cpuset.cpus cpuset.mems; do
                [[ ! -e $hierarchy/$file ]] || cat "$hierarchy/$file" >"$cgroup/$file"
            done
        done
        echo $BASHPID >"$hierarchy/$name/daemons/cgroup.procs"
    done
}

remove_cgroups() {
    local name=$1 hierarchy attempt left
    # The kernel takes a moment to end the last processes, and a cgroup with a process cannot be removed.
    for ((attempt = 0; attempt < 100; attempt++)); do
        left=false
        for hierarchy in $(hierarchies); do
            [[ ! -d $hierarchy/$name ]] || find "$hierarchy/$name" -depth -type d -exec rmdir {} + 2>/dev/null || left=true
        done
        $left || return 0
        sleep 0.1
    done
}
