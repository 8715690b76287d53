import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import {
  chat,
  exported,
  failureOf,
  imported,
  prompt,
  recording,
  startCassettes,
  type Cassettes,
} from '../support/cassettes.ts'
import { databaseOf, forEachStore } from '../support/each-store.ts'
import { runCommand } from '../support/command-line.ts'
import { expectError } from '../support/expect-error.ts'
import { makeFolder } from '../support/folder.ts'
import { encryptionKey, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'
import { openAiKey } from '../support/openai-upstream.ts'
import type { Upstream } from '../support/upstream.ts'

const name = 'checkout'

forEachStore('cassettes', () => {
  let house: Cassettes
  let recorder: TestGateway
  let player: TestGateway
  let openai: Upstream
  before(async () => {
    house = await startCassettes()
    ;({ recorder, player, openai } = house)
  })
  beforeEach(() => house.reset())
  after(() => house.stop())
  before(async () => {
    house.reset()
    await chat(await recording(recorder, name))
  })

  it('contain no key, and are encrypted in the store', async () => {
    const echo = { error: { message: `Incorrect API key: ${openAiKey}`, code: 'x' } }
    openai.answer({ status: 400, body: echo })
    await failureOf(chat(await recording(recorder, 'secrets'), `${prompt} with ${openAiKey}`))
    const file = JSON.stringify(await exported(recorder, 'secrets'))
    expect(file).to.include('[removed]').and.to.include(prompt)
    const files = readdirSync(recorder.dataDir, { recursive: true, withFileTypes: true })
    const stored = files
      .filter((one) => one.isFile())
      .map((one) => readFileSync(join(one.parentPath, one.name), 'latin1'))
    for (const text of [file, recorder.logText(), ...stored]) expect(text).not.to.include(openAiKey)
    for (const text of [recorder.logText(), ...stored]) expect(text).not.to.include('purple heron')
  })

  it('take no more calls when they are full, before the vendor is called', async () => {
    const [one] = (await exported(recorder, name)).interactions
    const interactions = Array.from({ length: 1000 }, () => one!)
    await imported(recorder, 'full', { object: 'cassette_file', version: 1, interactions })
    const before = openai.requests.length
    const error = await failureOf(chat(await recording(recorder, 'full')))
    expect(error).to.include({ status: 400, code: 'invalid_value' })
    expect(error.message).to.include('DELETE /api/cassettes/full')
    expect(openai.requests).to.have.length(before)
  })

  it('are marked when an answer did not fit', async () => {
    const { db } = recorder
    const client = await recording(recorder, 'large')
    await chat(client)
    const most = { bytes: 64 * 1024 * 1024 - 10 }
    await db.updateTable('cassettes').set(most).where('name', '=', 'large').execute()
    await chat(client)
    const response = await recorder.fetch('/api/cassettes?limit=100', { key: recorder.adminKey })
    const { data } = (await response.json()) as components['schemas']['CassetteList']
    expect(data.find((row) => row.name === 'large')).to.include({
      interactions: 1,
      is_complete: false,
    })
    expect((await failureOf(chat(client))).message).to.include('is full')
  })

  it('end after 90 days without a change', async () => {
    const client = await recording(recorder, 'old')
    await chat(client)
    const updated_at = Date.parse('2026-08-20')
    await recorder.db
      .updateTable('cassettes')
      .set({ updated_at })
      .where('name', '=', 'old')
      .execute()
    const path = '/api/cassettes/old'
    expect((await recorder.fetch(path, { key: recorder.adminKey })).status).to.equal(404)
    await chat(client, 'Anew')
    expect((await exported(recorder, 'old')).interactions).to.have.length(1)
  })

  it('belong to their account', async () => {
    const other = await player.inNewAccount()
    await imported(player, name, await exported(recorder, name))
    const key = await other.createKey('test', { row: { cassette: name } })
    expect(await failureOf(chat(openAiClient(other, key)))).to.include({ status: 404 })
    expect((await other.fetch(`/api/cassettes/${name}`, { key: other.adminKey })).status).to.equal(
      404,
    )
  })

  it('refuse a file of another form, and name its fault', async () => {
    const file = await exported(recorder, name)
    const put = (body: object) =>
      player.post('/api/cassettes/bad', body, { method: 'PUT', key: player.adminKey })
    await expectError(await put({ ...file, version: 2 }), {
      status: 400,
      code: 'invalid_value',
      param: 'version',
    })
    for (const wrong of ['a%2Fb', '-a', 'a'.repeat(65), 'a%0Ab']) {
      const path = `/api/cassettes/${wrong}`
      const answer = await player.post(path, file, { method: 'PUT', key: player.adminKey })
      await expectError(answer, { status: 400, code: 'invalid_value', param: 'name' })
    }
    const [one] = file.interactions
    const odd = { ...file, interactions: [{ ...one, response: { status: '200' } }] }
    const param = 'interactions[0].response.status'
    await expectError(await put(odd), { status: 400, code: 'invalid_value', param })
  })

  it('are made and read by the keys and commands that name them', async () => {
    const created = await player.post(
      '/api/keys',
      { name: 'ci', mode: 'test', cassette: 'ci' },
      { key: player.adminKey },
    )
    const odd = { name: 'ci', mode: 'test', cassette: 'my tests' }
    const refused = await player.post('/api/keys', odd, { key: player.adminKey })
    const error = await expectError(refused, {
      status: 400,
      code: 'invalid_value',
      param: 'cassette',
    })
    expect(error.message).to.include('Expected: 1 to 64 letters, digits and')
    const made = (await created.json()) as components['schemas']['CreatedApiKey']
    expect(made.cassette).to.equal('ci')
    const { path: folder, remove } = makeFolder()
    const file = join(folder, 'ci.json')
    const at = async ({ dataDir }: TestGateway) => ({
      DATA_DIR: dataDir,
      DATABASE_URL: await databaseOf(dirname(dataDir)),
      ENCRYPTION_KEY: encryptionKey,
    })
    const to = await at(player)
    const printed = await runCommand(['cassettes', 'export', name], await at(recorder))
    expect(printed.code, printed.stderr).to.equal(0)
    writeFileSync(file, printed.stdout)
    const stored = await runCommand(['cassettes', 'import', 'ci', file], to)
    expect(stored).to.deep.equal({
      code: 0,
      stderr: '',
      stdout: 'Imported ci with 1 interaction.\n',
    })
    const { data } = await chat(openAiClient(player, made.key))
    expect(data.choices[0]!.message.content).to.equal('Hello.')
    const misnamed = await runCommand(['cassettes', 'import', 'c/i', file], to)
    expect(misnamed.stderr).to.include("'name' is malformed. Expected: 1 to 64 letters, digits")
    expect(misnamed).to.include({ code: 2, stdout: '' })
    writeFileSync(file, '{"object": "cassette_file"}')
    const bad = await runCommand(['cassettes', 'import', 'ci', file], to)
    expect(bad).to.include({ code: 2 })
    expect(bad.stderr).to.include("'version'")
    remove()
  })
})
