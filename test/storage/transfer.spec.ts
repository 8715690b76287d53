import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import fc from 'fast-check'
import { exportedTables } from '../../src/storage/copies/export-format.ts'
import { exportStore } from '../../src/storage/copies/export.ts'
import { importIntoFolder } from '../../src/storage/copies/import.ts'
import { StoreError } from '../../src/storage/store-error.ts'
import { storePath } from '../../src/storage/store.ts'
import { accountRow } from '../support/callers.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { withLaterMigration } from '../support/later-migration.ts'
import { contentOf, insertRows, rowsFor } from '../support/random-rows.ts'
import { mountSmallDisk } from '../support/small-disk.ts'
import { openTestStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'

describe('an export', () => {
  let folder: TemporaryFolder
  let dataDir: string
  let file: string
  beforeEach(() => {
    folder = makeFolder()
    dataDir = join(folder.path, 'data')
    file = join(folder.path, 'rows.jsonl')
  })
  afterEach(() => folder.remove())

  const write = async (from = dataDir, to = file) => {
    const store = await openTestStore(from)
    try {
      return await exportStore({ store, dataDir: from, file: to, replaces: true })
    } finally {
      await store.close()
    }
  }
  const fill = async (count: number) => {
    const store = await openTestStore(dataDir)
    await store.db.insertInto('accounts').values(accountRow('acc_1')).execute()
    const rows = Array.from({ length: count }, (_, index) => ({
      ...usageRow(`row_${index}`, index * 60_000),
      mode: 'live',
      cost_nano_usd: 1_000_000_007,
    }))
    await store.commit(store.insertions('usage', rows))
    const pieces = Array.from({ length: 40 }, (_, position) => ({
      answer_id: 'req_1',
      position,
      content: Buffer.alloc(2000, position),
      expires_at: 1,
    }))
    await store.db.insertInto('idempotent_answer_pieces').values(pieces).execute()
    await store.close()
  }
  const other = () => join(mkdtempSync(join(folder.path, 'other-')), 'data')
  const refusal = async (attempt: Promise<unknown>) => {
    const error = await attempt.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.instanceOf(StoreError)
    expect((error as StoreError).errcode).to.equal(undefined)
    return (error as StoreError).message
  }

  it('contains every table, except derived ones', async () => {
    await fill(1)
    const database = new DatabaseSync(storePath(dataDir))
    const found = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all()
    database.close()
    const names = found
      .map(({ name }) => String(name))
      .filter((name) => !name.startsWith('kysely_'))
    const derived = [
      'budget_leases',
      'process_leases',
      'usage_hours',
      'usage_sums',
      'waiting_pictures',
      'write_checks',
    ]
    expect([...exportedTables.keys(), ...derived].toSorted()).to.deep.equal(names.toSorted())
  })

  it('copies random rows exactly into another store', async function () {
    await (await openTestStore(dataDir)).close()
    const rows = rowsFor(storePath(dataDir))
    await fc.assert(
      fc.asyncProperty(rows, async (random) => {
        const [from, to] = [other(), other()]
        await (await openTestStore(from)).close()
        insertRows(storePath(from), random)
        await write(from)
        await importIntoFolder({ dataDir: to, file })
        expect(contentOf(to)).to.deep.equal(contentOf(from))
      }),
      { numRuns: 8 },
    )
  })

  it('is written in pages, with the number of rows', async () => {
    await fill(1234)
    const { head, rows, journaledRows } = await write()
    expect(head.rows).to.include({ accounts: 1, usage: 1234, idempotent_answer_pieces: 40 })
    expect([rows, journaledRows]).to.deep.equal([1275, 0])
    expect(statSync(file).mode & 0o777).to.equal(0o600)
    const to = other()
    const imported = await importIntoFolder({ dataDir: to, file })
    expect(imported.costNanoUsd).to.equal(String(1_000_000_007n * 1234n))
    expect(readdirSync(to)).to.deep.equal(['gateway.db', 'gateway.lock'])
    expect(contentOf(to)).to.deep.equal(contentOf(dataDir))
    const database = new DatabaseSync(storePath(to), { readOnly: true })
    expect(database.prepare('SELECT sum(calls) calls FROM usage_hours').get()).to.include({
      calls: 1234,
    })
    database.close()
  })

  it('of an older version is migrated', async () => {
    await fill(3)
    await write()
    const to = other()
    await withLaterMigration(() => importIntoFolder({ dataDir: to, file }))
    const [usage] = contentOf(to)['usage'] as Record<string, unknown>[]
    expect(usage).to.deep.equal({ ...(contentOf(dataDir)['usage']![0] as object), later_tokens: 7 })
  })

  it('from before version 0.1 is imported, with the columns that it has', async () => {
    await fill(3)
    await write()
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    const head = JSON.parse(lines[0]!) as { schema: string; rows: Record<string, number> }
    const usageAt = lines.findIndex((line) => line.startsWith('{"table":"usage"'))
    const { columns } = JSON.parse(lines[usageAt]!) as { columns: string[] }
    const old = columns.filter((column) => !added.has(column))
    const rows = lines.slice(usageAt + 1, usageAt + 4).map((line) => {
      const values = JSON.parse(line) as unknown[]
      return JSON.stringify(old.map((column) => values[columns.indexOf(column)]))
    })
    const first = { ...head, schema: '0014_gateway_secrets', rows: { usage: 3 } }
    const made = [JSON.stringify(first), JSON.stringify({ table: 'usage', columns: old }), ...rows]
    writeFileSync(file, sealed(made))
    const to = other()
    const imported = await importIntoFolder({ dataDir: to, file })
    expect(imported.rows).to.equal(3)
    expect(contentOf(to)).to.deep.include({
      usage: contentOf(dataDir)['usage'],
      usage_hours: contentOf(dataDir)['usage_hours'],
    })
  })

  it('is imported only into an empty store, which is kept', async () => {
    await fill(2)
    await write()
    const to = other()
    await (await openTestStore(to)).close()
    expect((await importIntoFolder({ dataDir: to, file })).replaced).to.match(/replaced-/)
    expect(await refusal(importIntoFolder({ dataDir: to, file }))).to.include(
      'already has a store (accounts: 1, calls: 2); an import needs an empty one. Set DATA_DIR',
    )
    const store = await openTestStore(dataDir)
    expect(await refusal(importIntoFolder({ dataDir, file }))).to.include('is in use')
    await store.close()
  })

  it('leaves nothing on a full disk', async function () {
    const disk = join(folder.path, 'disk')
    mkdirSync(disk)
    const unmount = mountSmallDisk(disk)
    if (unmount === undefined) return this.skip()
    try {
      await fill(3000)
      expect(await refusal(write(dataDir, join(disk, 'rows.jsonl')))).to.include('the disk is full')
      expect(readdirSync(disk)).to.deep.equal([])
      await write()
      const to = join(disk, 'data')
      expect(await refusal(importIntoFolder({ dataDir: to, file }))).to.include('the disk is full')
      expect(readdirSync(to)).to.deep.equal(['gateway.lock'])
    } finally {
      unmount()
    }
  })

  describe('that cannot be', () => {
    const cut = (text: string, at: number) => text.slice(0, Math.floor(text.length * at))
    const cases: Record<string, [spoil: (text: string) => string, words: RegExp]> = {
      'is empty': [() => '', /line 0: it is empty\.$/],
      'is cut off in a line': [
        (text) => cut(text, 0.5),
        /line \d+: it is not JSON: the file was cut/,
      ],
      'is cut off after a line': [
        (text) => text.replace(/\n[^\n]*\n$/, '\n'),
        /it ends before its last line: the file was cut off\.$/,
      ],
      'is no export': [() => '{"a":1}\n', /line 1: it is not the first line of an export\.$/],
      'is a list of anything': [() => '7\n', /neither an object nor a list/],
      'has a changed digit': [
        (text) => text.replace('1000000007', '1000000008'),
        /checksum does not match/,
      ],
      'has a changed letter': [
        (text) => text.replace('"row_1"', '"row_x"'),
        /checksum does not match/,
      ],
      'has a line less': [(text) => text.replace(/\["row_1".*\n/, ''), /checksum does not match/],
      'has lines after its last one': [(text) => `${text}{}\n`, /it follows the last line/],
      'has a number where a text belongs': [
        (text) => text.replace('"row_1"', '7'),
        /line \d+: the column id must hold a text\.$/,
      ],
      'has a broken number': [
        (text) => text.replace('1000000007', '1.5'),
        /the column cost_nano_usd must hold a whole number\.$/,
      ],
      'has a table that there is not': [
        (text) => text.replace('"table":"usage"', '"table":"usage_days"'),
        /unknown table 'usage_days'\.$/,
      ],
      'has a column that there is not': [
        (text) => text.replaceAll('"key_id"', '"kez_id"'),
        /rows that the store refuses: .*kez_id/,
      ],
      'lacks what a column needs': [
        (text) => text.replace('"row_1"', 'null'),
        /rows that the store refuses: NOT NULL/,
      ],
      'is of a later form': [
        (text) => text.replace('"version":1', '"version":2'),
        /^The export was written by a newer version of the gateway\. Update the gateway\.$/,
      ],
      'is of a later schema': [
        (text) => text.replace(/"schema":"\d+/, '"schema":"9999'),
        /^The export was written by a newer version of the gateway\. Update the gateway\.$/,
      ],
      'counts other rows than it has': [
        (text) => sealed(text.replace('"usage":5', '"usage":6').trimEnd().split('\n').slice(0, -1)),
        /the number of rows of usage does not match the first line/,
      ],
    }
    for (const [name, [spoil, words]] of Object.entries(cases)) {
      it(`imported, since it ${name}, leaves nothing`, async () => {
        await fill(5)
        await write()
        const text = readFileSync(file, 'utf8')
        const spoiled = spoil(text)
        expect(spoiled).to.not.equal(text)
        writeFileSync(file, spoiled)
        const to = other()
        expect(await refusal(importIntoFolder({ dataDir: to, file }))).to.match(words)
        expect(readdirSync(to)).to.deep.equal(['gateway.lock'])
      })
    }
  })
})

/** Columns that early stores lack. */
const added: ReadonlySet<string> = new Set(['asked_model', 'warnings', 'saved_nano_usd', 'tags'])

/** The text of an export: the lines, and a valid last line with row count and hash. */
function sealed(lines: readonly string[]): string {
  const text = lines.map((line) => `${line}\n`).join('')
  const rows = lines.filter((line) => line.startsWith('[')).length
  const sha256 = createHash('sha256').update(text).digest('hex')
  return `${text}${JSON.stringify({ rows, sha256 })}\n`
}
