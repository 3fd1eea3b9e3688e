// mem0's side: node mem0.mjs PACKAGES FOLDER [FACTS]. No model is asked; the embedder is a server of this process.
import { createServer } from 'node:http';
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const ADDS = 50;
const SEARCHES = 100;
const DIMS = 256;
const [packages, folder, facts] = process.argv.slice(2);
const { Memory } = createRequire(path.join(path.resolve(packages), 'x.js'))('mem0ai/oss');

// Words into buckets: the same words give the same vector.
function embed(text) {
    const v = new Array(DIMS).fill(0);
    for (const word of text.toLowerCase().match(/[a-z0-9]+/g) ?? ['']) {
        const hash = createHash('md5').update(word).digest();
        v[hash[0]] += hash[1] % 2 === 0 ? 1 : -1;
        v[hash[2]] += hash[3] % 2 === 0 ? 1 : -1;
    }
    const length = Math.hypot(...v) || 1;
    return v.map(x => x / length);
}

const server = createServer((request, response) => {
    let body = '';
    request.on('data', piece => (body += piece));
    request.on('end', () => {
        const texts = [JSON.parse(body).input].flat();
        const data = texts.map((text, index) => ({ object: 'embedding', index, embedding: embed(text) }));
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ object: 'list', data, model: 'words', usage: { prompt_tokens: 0, total_tokens: 0 } }));
    });
});
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;

mkdirSync(folder, { recursive: true });
const memory = new Memory({
    embedder: { provider: 'lmstudio', config: { apiKey: 'none', baseURL, model: 'words', embeddingDims: DIMS } },
    vectorStore: { provider: 'memory', config: { collectionName: 'facts', dimension: DIMS, dbPath: path.join(folder, 'vectors.db') } },
    llm: { provider: 'lmstudio', config: { apiKey: 'none', baseURL, model: 'none' } },
    historyStore: { provider: 'sqlite', config: { historyDbPath: path.join(folder, 'history.db') } },
});

const median = list => list.sort((a, b) => a - b)[Math.floor(list.length / 2)].toFixed(2);
const add = text => memory.add([{ role: 'user', content: text }], { userId: 'me', infer: false });

async function timed(work) {
    const before = process.hrtime.bigint();
    const result = await work();
    return [Number(process.hrtime.bigint() - before) / 1e6, result];
}

// As its own add leaves them, but all in one insert.
async function fill(lines) {
    const createdAt = new Date().toISOString();
    await memory.vectorStore.insert(lines.map(embed), lines.map(() => randomUUID()),
        lines.map(data => ({ user_id: 'me', data, hash: createHash('md5').update(data).digest('hex'),
            textLemmatized: data.toLowerCase(), createdAt })));
}

async function timeStore() {
    const lines = readFileSync(facts, 'utf8').trim().split('\n');
    await add('The first add opens what there is to open');
    await fill(lines);
    const adds = [];
    for (let i = 0; i < ADDS; i++)
        adds.push((await timed(() => add(`Somebody new works as a guide since 2025 and keeps locker NEW${i}`)))[0]);
    const searches = [];
    let found = 0;
    // Its searches take long over many facts: fewer of them give the same median.
    const count = lines.length > 5000 ? SEARCHES / 5 : SEARCHES;
    for (let i = 0; i < count; i++) {
        const query = 'POL' + String(1 + i * Math.floor(lines.length / count)).padStart(6, '0');
        const [ms, result] = await timed(() => memory.search(query, { filters: { user_id: 'me' }, topK: 10 }));
        searches.push(ms);
        if (result.results.slice(0, 10).some(r => r.memory.endsWith(query))) found++;
    }
    const questions = [];
    for (let i = 0; i < count; i++) {
        const query = `Which locker is it: ${lines[i * Math.floor(lines.length / count)].replace(/ \S+$/, '')}?`;
        questions.push((await timed(() => memory.search(query, { filters: { user_id: 'me' }, topK: 10 })))[0]);
    }
    console.log(['mem0 3.3.1', lines.length, median(adds), median(searches), median(questions), `${found} of ${count}`].join('\t'));
}

async function writeAtOnce() {
    const calls = [];
    for (let i = 0; i < 50; i++)
        calls.push(add(`writer ${i} was here`));
    await Promise.all(calls);
    const kept = (await memory.getAll({ filters: { user_id: 'me' }, topK: 1000 })).results.length;
    console.log(['at once', 'mem0 3.3.1', 50, kept, 'one object, 50 calls'].join('\t'));
}

await (facts !== undefined ? timeStore() : writeAtOnce());
process.exit(0);
