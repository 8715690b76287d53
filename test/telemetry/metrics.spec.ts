import { renameSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { createFreeBytes } from '../../src/telemetry/metrics.ts'
import { completion, refusal, textChunk } from '../support/chat-answers.ts'
import { makeFolder } from '../support/folder.ts'
import { callTool, connectClient } from '../support/mcp-client.ts'
import { metric } from '../support/metric.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { sendRaw } from '../support/raw-connection.ts'
import { until } from '../support/until.ts'

describe('the count of answers by error code', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint()
  })
  after(() => own.stop())

  /** How many more answers with this status and code there are after `act`. */
  const counted = async (status: number, code: string, act: () => Promise<unknown>) => {
    const name = `gateway_responses_total{status="${status}",code="${code}"}`
    const before = await metric(own.gateway, name)
    await act()
    return (await metric(own.gateway, name)) - before
  }

  it('has answers without an error', async () => {
    own.upstream.answer(completion('Hi.'))
    expect(await counted(200, 'none', () => own.chat())).to.equal(1)
  })

  it('has refusals before a call, and failures of vendors', async () => {
    const stranger = () => own.chat({}, { key: 'mag_live_nobody' })
    expect(await counted(401, 'invalid_api_key', stranger)).to.equal(1)
    own.upstream.answer(refusal(503))
    const fail = () => own.chat({ seed: 1 })
    expect(await counted(502, 'provider_error', fail)).to.equal(1)
  })

  it('has a stream that broke off by its error, not by its head', async () => {
    own.upstream.answer({ pieces: [textChunk('one')], reset: 'after' })
    const stream = async () => (await own.chat({ stream: true, seed: 2 })).text()
    expect(await counted(502, 'provider_error', stream)).to.equal(1)
  })

  it('has bytes that are no request', async () => {
    const { url } = own.gateway
    expect(await counted(400, 'invalid_value', () => sendRaw(url, 'no request\r\n\r\n'))).to.equal(
      1,
    )
  })

  it('has the error of a tool, whose HTTP answer has none', async () => {
    const client = await connectClient(own.gateway, own.gateway.liveKey)
    own.upstream.answer(refusal(503))
    const call = () => callTool(client, 'chat', { model: 'own/tool', messages: hello })
    expect(await counted(502, 'provider_error', call)).to.equal(1)
    await client.close()
  })
})

describe('the metrics of the store', () => {
  it('report a store that accepts no rows, the rows that wait, and the time of commits', async () => {
    const folder = makeFolder()
    const bounds = { storeBusyTimeoutMs: 20, storeCheckIntervalMs: 20, ledgerRetryMaxMs: 40 }
    const own = await startOwnEndpoint({ bounds, variables: { DATA_DIR: folder.path } })
    const read = (name: string) => metric(own.gateway, name)
    const other = new DatabaseSync(join(folder.path, 'gateway.db'), { timeout: 5000 })
    expect(await read('gateway_store_up')).to.equal(1)
    expect(await read('gateway_commit_seconds_count')).to.equal(0)
    own.upstream.answer(() => {
      other.exec('BEGIN IMMEDIATE')
      return completion('Hi.')
    })
    expect((await own.chat()).status).to.equal(200)
    expect(await read('gateway_store_up')).to.equal(0)
    expect(await read('gateway_journal_rows')).to.equal(1)
    expect(await read('gateway_commit_seconds_count')).to.equal(1)
    expect(await read('gateway_commit_seconds_sum')).to.be.within(0.02, 5)
    other.exec('ROLLBACK')
    other.close()
    await until('it accepts rows', async () => (await read('gateway_store_up')) === 1)
    expect(await read('gateway_journal_rows')).to.equal(0)
    expect(await read('gateway_database_pool_waiting')).to.equal(0)
    await own.stop()
    folder.remove()
  })

  it('have the free space of the folder, and none if it is missing', async () => {
    await using own = await startOwnEndpoint()
    const { dataDir } = own.gateway
    const read = () => metric(own.gateway, 'gateway_data_dir_free_bytes')
    const { bavail, bsize } = statfsSync(dataDir)
    expect(await read()).to.be.within(0.5 * bavail * bsize, 1.5 * bavail * bsize)
    renameSync(dataDir, `${dataDir}-away`)
    expect(await read()).to.equal(0)
    renameSync(`${dataDir}-away`, dataDir)
    expect(await read()).to.be.above(0)
  })

  it('do not wait for a file system that does not answer, and ask it only once', async () => {
    let asked = 0
    const answer = Promise.withResolvers<{ bavail: number; bsize: number }>()
    const read = createFreeBytes('/mnt', () => {
      asked += 1
      return answer.promise
    })
    expect(await Promise.all([read(), read()])).to.deep.equal([0, 0])
    expect(await read()).to.equal(0)
    expect(asked).to.equal(1)
    answer.resolve({ bavail: 3, bsize: 4096 })
    expect(await read()).to.equal(12_288)
    await read()
    expect(asked).to.equal(2)
  })
})
