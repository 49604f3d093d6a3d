// SPDX-License-Identifier: GPL-2.0-or-later
// Checks a JSON file against a JSON schema (draft 7): schema.cjs SCHEMA FILE
const Ajv = require('ajv');
const fs = require('fs');

const [schema, file] = process.argv.slice(2).map((path) => JSON.parse(fs.readFileSync(path)));
const validate = new Ajv({ strict: false }).compile(schema);
if (!validate(file)) {
  console.error(validate.errors.slice(0, 5));
  process.exit(1);
}
