#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The software bill of materials of a source archive, as SPDX 2.3 in JSON: scripts/sbom.py ARCHIVE.tar.xz TIME

It has each file of the archive with its SHA-256 and licence, and each package of scripts/deps.sh that assay is built with. TIME
is that of the commit, in seconds: two runs over one archive give equal bytes. Format: https://spdx.github.io/spdx-spec/v2.3/
"""

import hashlib
import json
import pathlib
import re
import sys
import tarfile
import time
import urllib.parse

LICENCE = "GPL-2.0-or-later"
TAG = re.compile(rb"SPDX-License-Identifier: ([A-Za-z0-9.+-]+)")


def package_id(name):
    return "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def file_entry(number, name, content):
    """Files without a licence tag (texts, data) have the licence of the whole."""
    tag = TAG.search(content[:400])
    return {
        "SPDXID": f"SPDXRef-File-{number}",
        "fileName": "./" + name,
        "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
                      {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()}],
        "licenseConcluded": LICENCE,
        "licenseInfoInFiles": [tag.group(1).decode() if tag else "NONE"],
        "copyrightText": "NOASSERTION",
    }


def contents_of(archive):
    """The bytes of each file by its name, without the folder of the archive."""
    with tarfile.open(archive) as tar:
        return {m.name.partition("/")[2]: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}


def verification_code(files):
    """Of the package: the SHA-1 of the files' sorted SHA-1s (SPDX 2.3, section 7.9)."""
    sums = sorted(f["checksums"][0]["checksumValue"] for f in files)
    return hashlib.sha1("".join(sums).encode()).hexdigest()


def build_packages(deps):
    """Debian's names of the packages with the purpose "build" in the table of scripts/deps.sh."""
    rows = [line.split("|") for line in deps.splitlines() if line.startswith("build|")]
    return [(re.split(r"[/?]", row[1])[0], row[4]) for row in rows]


def package_entry(name, comment):
    return {"SPDXID": package_id(name), "name": name, "comment": comment, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"pkg:deb/debian/{urllib.parse.quote(name, safe='')}"}]}


def main():
    archive, seconds = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    name = archive.name.removesuffix(".tar.xz")
    contents = contents_of(archive)
    files = [file_entry(i + 1, file, contents[file]) for i, file in enumerate(sorted(contents))]
    packages = build_packages(contents["scripts/deps.sh"].decode())
    whole = {
        "SPDXID": "SPDXRef-Package-assay", "name": "assay", "versionInfo": name.partition("-")[2],
        "packageFileName": archive.name, "downloadLocation": "NOASSERTION", "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": verification_code(files)},
        "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(archive.read_bytes()).hexdigest()}],
        "licenseConcluded": LICENCE, "licenseDeclared": LICENCE, "licenseInfoFromFiles": sorted({f["licenseInfoInFiles"][0] for f in files} - {"NONE"}),
        "copyrightText": "the authors of assay",
    }
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", whole["SPDXID"])]
    relations += [(package_id(p), "BUILD_DEPENDENCY_OF", whole["SPDXID"]) for p, _ in packages]
    relations += [(whole["SPDXID"], "CONTAINS", f["SPDXID"]) for f in files]
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"urn:sha256:{whole['checksums'][0]['checksumValue']}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)), "creators": ["Tool: scripts/sbom.py"]},
        "packages": [whole] + [package_entry(p, comment) for p, comment in packages],
        "files": files,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations],
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
