#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of `podman run` for a container of a manifest, a line each: pod_words.py MANIFEST CONTAINER FOLDER IMAGE.

Each volume is FOLDER/NAME, but folders of the machine below /sys stay. Capabilities, user, read-only file system, seccomp, memory, environment and
command are those of the manifest. Words that the manifest has and this program does not know end it with an error.
"""
import sys

import yaml

KNOWN = {"name", "image", "command", "env", "ports", "securityContext", "resources", "livenessProbe", "readinessProbe", "volumeMounts"}
KNOWN_SECURITY = {"capabilities", "allowPrivilegeEscalation", "readOnlyRootFilesystem", "seccompProfile", "runAsNonRoot", "runAsUser", "runAsGroup", "fsGroup"}


def container_of(path, name):
    with open(path, encoding="utf-8") as file:
        for document in yaml.safe_load_all(file):
            pod = document.get("spec", {}).get("template", {}).get("spec", {})
            for container in pod.get("containers", []):
                if container["name"] == name:
                    return pod, container
    sys.exit(f"{path} has no container {name}")


def security_words(security):
    if unknown := set(security) - KNOWN_SECURITY:
        sys.exit(f"unknown: {unknown}")
    words = [f"--cap-drop={name}" for name in security["capabilities"].get("drop", [])]
    words += [f"--cap-add={name}" for name in security["capabilities"].get("add", [])]
    if not security["allowPrivilegeEscalation"]:
        words += ["--security-opt=no-new-privileges"]
    if security["readOnlyRootFilesystem"]:
        words += ["--read-only", "--read-only-tmpfs=false"]
    if security["seccompProfile"]["type"] == "Unconfined":
        words += ["--security-opt=seccomp=unconfined"]
    if "runAsUser" in security:
        words += [f"--user={security['runAsUser']}:{security['runAsGroup']}"]
    return words


def volume_words(pod, container, folder):
    volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
    words = []
    for mount in container["volumeMounts"]:
        source = volumes.get(mount["name"], {}).get("hostPath", {}).get("path", "")
        source = source if source.startswith("/sys/") else f"{folder}/{mount['name']}"
        words += [f"--volume={source}:{mount['mountPath']}" + (":ro" if mount.get("readOnly") else "")]
    return words


def main():
    manifest, name, folder, image = sys.argv[1:]
    pod, container = container_of(manifest, name)
    if unknown := set(container) - KNOWN:
        sys.exit(f"unknown: {unknown}")
    words = ["--pid=host"] if pod.get("hostPID") else []
    words += security_words(pod.get("securityContext", {}) | container["securityContext"])
    words += volume_words(pod, container, folder)
    words += [f"--env={each['name']}={each['value']}" for each in container.get("env", []) if "value" in each]
    words += [f"--memory={container['resources']['limits']['memory'].rstrip('i').lower()}", image, *container["command"]]
    print("\n".join(words))


main()
