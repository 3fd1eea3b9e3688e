// The official memory server's side: node server.mjs PACKAGES FILE [FACTS]. Speaks JSON-RPC over stdio, a message a line.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import path from 'node:path';

const ADDS = 50;
const SEARCHES = 100;
const [packages, file, facts] = process.argv.slice(2);
const entry = path.join(packages, 'node_modules', '@modelcontextprotocol', 'server-memory', 'dist', 'index.js');

const waiting = new Map();
let lastId = 0;
let child;

function call(method, params) {
    const id = ++lastId;
    child.stdin.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\n');
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

async function tool(name, args) {
    const result = await call('tools/call', { name, arguments: args });
    if (result.isError) throw new Error(JSON.stringify(result.content));
    return result;
}

async function start() {
    child = spawn(process.execPath, [entry], { env: { ...process.env, MEMORY_FILE_PATH: path.resolve(file) },
        stdio: ['pipe', 'pipe', 'ignore'] });
    createInterface({ input: child.stdout }).on('line', line => {
        const message = JSON.parse(line);
        const wait = waiting.get(message.id);
        if (wait === undefined) return;
        waiting.delete(message.id);
        if (message.error) wait.reject(new Error(message.error.message));
        else wait.resolve(message.result);
    });
    await call('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' } });
    child.stdin.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }) + '\n');
}

const entity = (name, text) => ({ name, entityType: 'fact', observations: [text] });
const median = list => list.sort((a, b) => a - b)[Math.floor(list.length / 2)].toFixed(2);

async function timed(work) {
    const before = process.hrtime.bigint();
    const result = await work();
    return [Number(process.hrtime.bigint() - before) / 1e6, result];
}

async function timeStore() {
    const lines = readFileSync(facts, 'utf8').trim().split('\n');
    // One by one it would rewrite the growing file ten thousand times.
    writeFileSync(file, lines.map((text, i) => JSON.stringify({ type: 'entity', ...entity(`fact ${i + 1}`, text) })).join('\n'));
    await start();
    const adds = [];
    for (let i = 0; i < ADDS; i++) {
        const text = `Somebody new works as a guide since 2025 and keeps locker NEW${i}`;
        adds.push((await timed(() => tool('create_entities', { entities: [entity(`new ${i}`, text)] })))[0]);
    }
    const searches = [];
    let found = 0;
    for (let i = 0; i < SEARCHES; i++) {
        const query = 'POL' + String(1 + i * Math.floor(lines.length / SEARCHES)).padStart(6, '0');
        const [ms, result] = await timed(() => tool('search_nodes', { query }));
        searches.push(ms);
        if (JSON.parse(result.content[0].text).entities.slice(0, 10).some(e => e.observations[0].endsWith(query))) found++;
    }
    const questions = [];
    for (let i = 0; i < SEARCHES; i++) {
        const query = `Which locker is it: ${lines[i * Math.floor(lines.length / SEARCHES)].replace(/ \S+$/, '')}?`;
        questions.push((await timed(() => tool('search_nodes', { query })))[0]);
    }
    console.log(['server-memory 2026.8.31', lines.length, median(adds), median(searches), median(questions), `${found} of ${SEARCHES}`].join('\t'));
}

async function writeAtOnce() {
    await start();
    const calls = [];
    for (let i = 0; i < 50; i++)
        calls.push(tool('create_entities', { entities: [entity(`writer ${i}`, 'was here')] }));
    await Promise.all(calls); // each was acknowledged
    const graph = await tool('read_graph', {});
    const kept = JSON.parse(graph.content[0].text).entities.length;
    console.log(['at once', 'server-memory 2026.8.31', 50, kept, 'one server, 50 calls'].join('\t'));
}

try {
    await (facts !== undefined ? timeStore() : writeAtOnce());
} finally {
    child?.kill();
}
