// SPDX-License-Identifier: GPL-2.0-or-later
// Opens a profile with the Firefox Profiler's own code (profiler-cli) and prints its threads as JSON: name, pid, tid,
// the sum of its samples, and its functions. firefox.mjs FILE FOLDER; the FOLDER has the reader's socket.
import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const [file, folder] = process.argv.slice(2);
const cli = fileURLToPath(new URL('node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js', import.meta.url));
const options = { env: { ...process.env, PROFILER_CLI_SESSION_DIR: folder, PROFILER_CLI_NO_SYMBOLICATE: '1' }, maxBuffer: 1 << 28 };
const deadline = Date.now() + 1000 * Number(process.env.DEADLINE ?? 60);

const reader = spawn(process.execPath, [cli, '--daemon', file, '--session', 'test'], { ...options, stdio: ['ignore', 'ignore', 'inherit'] });
const run = promisify(execFile);

async function ask(...words) {
  const { stdout } = await run(process.execPath, [cli, ...words, '--session', 'test', '--json'], options);
  return JSON.parse(stdout);
}

// A question that comes too early makes the reader forget its session.
async function loaded() {
  const log = `${folder}/test.log`;
  for (;;) {
    const text = existsSync(log) ? readFileSync(log, 'utf8') : '';
    if (text.includes('Profile loaded successfully')) return;
    if (reader.exitCode !== null || reader.signalCode || Date.now() > deadline) throw new Error(`not loaded: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

try {
  await loaded();
  const { threads } = await ask('thread', 'list', '--limit', '0');
  for (const thread of threads) {
    const { functions, totalFunctionCount } = await ask('thread', 'functions', '--thread', thread.threadHandle, '--limit', '0');
    if (functions.length !== totalFunctionCount) throw new Error(`${functions.length} of ${totalFunctionCount} functions`);
    thread.total = functions.reduce((sum, f) => sum + f.selfSamples, 0);
    thread.functions = functions.map(({ name, library, selfSamples, totalSamples }) =>
      ({ name, image: library, self: selfSamples, total: totalSamples }));
  }
  const meta = await ask('profile', 'meta');
  console.log(JSON.stringify({ threads, meta }));
} finally {
  reader.kill('SIGKILL');
}
