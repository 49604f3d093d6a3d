# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What tests with podman share. Everything of podman's is in the folder $BASE, which the file's setup makes.
#
#   podman_of root|user COMMAND…           podman of root, or of nobody
#   run_container root|user OPTION… IMAGE COMMAND…   podman's own limits are more than some machines have
#   remove_base                            for wait_for, at the end of the file

OPTIONS_root=(--root "${BASE-}/root" --runroot "${BASE-}/run" --tmpdir "${BASE-}/tmp" --cgroup-manager=cgroupfs --events-backend=none)
! command -v runc >/dev/null || OPTIONS_root+=(--runtime=runc)
OPTIONS_user=(--root "${BASE-}/user/root" --runroot "${BASE-}/user/run" --cgroup-manager=cgroupfs --events-backend=none --storage-driver=vfs)

podman_of() {
	case $1 in
	root) podman "${OPTIONS_root[@]}" "${@:2}" ;;
	user)
		# crun takes cgroup v2 alone, or v1 alone.
		unshare -m env -i PATH="$PATH" HOME="$BASE/user" XDG_RUNTIME_DIR="$BASE/user" sh -c '
			cd / && { grep -q "^cgroup2 /sys/fs/cgroup " /proc/mounts ||
				{ umount -Rl /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup; }; } 2>/dev/null
			exec setpriv --reuid 65534 --regid 65534 --clear-groups podman "$@"' sh "${OPTIONS_user[@]}" "${@:2}"
		;;
	esac
}

run_container() {
	podman_of "$1" run --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 "${@:2}"
}

# podman's own clean-up of a container may still run, and mount the folder once more.
remove_base() {
	umount "$BASE/root/overlay" 2>/dev/null || true
	rm -rf "$BASE" 2>/dev/null
}
