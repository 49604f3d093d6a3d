// SPDX-License-Identifier: GPL-2.0-or-later
// Checks manifests against the schemas of Kubernetes' API: kubernetes.mjs FILE… The schemas permit unknown
// members, and so a misspelt one. So a member that the check of its object never reads is an error, too.
// kubernetes.mjs --command CONTAINER FILE prints the command of a container, a word a line.
import fs from "fs";
import * as yaml from "js-yaml";

// The object, with `unread` as the paths of its members that nobody has read yet.
function watched(object, path, unread) {
	if (typeof object !== "object" || object === null)
		return object;
	const copy = Array.isArray(object) ? [] : {};
	for (const [name, value] of Object.entries(object)) {
		const at = `${path}/${name}`;
		copy[name] = watched(value, at, unread);
		unread.add(at);
	}
	return new Proxy(copy, {
		get(target, name) {
			unread.delete(`${path}/${String(name)}`);
			return target[name];
		},
	});
}

function errors(kind, object) {
	const unread = new Set();
	const model = new kind(object);
	model.spec = watched(object.spec, "/spec", unread);
	model.metadata = watched(object.metadata, "/metadata", unread);
	try {
		model.validate();
	} catch (e) {
		return [e.message];
	}
	return [...unread].map((path) => `no member of the API: ${path}`);
}

function print_command(name, file) {
	for (const object of yaml.loadAll(fs.readFileSync(file, "utf8")))
		for (const container of object.spec?.template?.spec.containers ?? [])
			if (container.name === name)
				console.log(container.command.join("\n"));
}

const words = process.argv.slice(2);
if (words[0] === "--command") {
	print_command(words[1], words[2]);
	words.length = 0;
}
let failed = false;
for (const file of words) {
	for (const object of yaml.loadAll(fs.readFileSync(file, "utf8"))) {
		const kind = (await import(`kubernetes-models/${object.apiVersion}/${object.kind}`))[object.kind];
		const found = errors(kind, object);
		failed ||= found.length > 0;
		for (const e of found.length ? found : ["right"])
			console.log(`${object.kind} ${object.metadata.name}: ${e}`);
	}
}
process.exit(failed ? 1 : 0);
