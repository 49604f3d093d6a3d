# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the wheel of this folder with Python alone (PEP 517), so that pip needs no network."""

import base64
import hashlib
import pathlib
import re
import zipfile

HERE = pathlib.Path(__file__).parent


def field(name):
    return re.search(rf'(?m)^{name} = "(.*)"$', (HERE / "pyproject.toml").read_text())[1]


def row(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name, version = field("name"), field("version")
    info = f"{name}-{version}.dist-info"
    files = {f"{name}/{path.name}": path.read_bytes() for path in sorted((HERE / name).iterdir()) if path.is_file()}
    files[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {field('description')}\n"
                                 f"Requires-Python: {field('requires-python')}\n").encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: wheel_builder\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = ("".join(row(*item) for item in files.items()) + f"{info}/RECORD,,\n").encode()
    wheel = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return wheel
