import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { sendRaw } from '../support/raw-connection.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { makeFolder } from '../support/folder.ts'
import { hello } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'

describe('pages outside the contract', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())
  const get = (path: string, headers: Record<string, string> = {}) =>
    gateway.fetch(path, { key: null, headers, redirect: 'manual' })

  it('report that the gateway is alive and ready', async () => {
    const [health, ready] = [await get('/health'), await get('/ready')]
    expect([health.status, ready.status]).to.deep.equal([200, 200])
    expect(await health.json()).to.deep.equal({ status: 'ok' })
    const providers = { configured: 0, paused: 0 }
    expect(await ready.json()).to.deep.equal({ status: 'ready', providers })
  })

  it('report that the gateway is not ready while its store accepts no rows', async () => {
    const folder = makeFolder()
    const bounds = { storeCheckIntervalMs: 20 }
    const broken = await startGateway({ variables: { DATA_DIR: folder.path }, bounds })
    const database = new DatabaseSync(join(folder.path, 'gateway.db'))
    const rename = (from: string, to: string) =>
      database.exec(`ALTER TABLE ${from} RENAME TO ${to}`)
    const ready = () => broken.fetch('/ready', { key: null })
    rename('write_checks', 'gone')
    const response = await ready()
    expect(response.headers.get('retry-after')).to.equal('5')
    await expectError(response, { status: 503, code: 'overloaded', type: 'overloaded_error' })
    expect((await broken.fetch('/health', { key: null })).status).to.equal(200)
    expect(broken.logText()).to.contain('no such table: write_checks')
    rename('gone', 'write_checks')
    database.close()
    await until('it is ready', async () => (await ready()).status === 200)
    await broken.stop()
    folder.remove()
  })

  it('redirect clients other than browsers from / to the API reference', async () => {
    const response = await get('/')
    expect(response.status).to.equal(302)
    expect(response.headers.get('location')).to.equal('/docs')
  })

  it('serve an API reference that loads nothing from another server', async () => {
    const page = await get('/docs')
    const html = await page.text()
    expect(page.headers.get('content-type')).to.equal('text/html; charset=utf-8')
    expect(html).not.to.match(/(src|href|url)\s*[=(]\s*["']?(https?:)?\/\//i)
    const policy = page.headers.get('content-security-policy')!
    expect(policy).to.contain("default-src 'none'").and.contain("script-src 'self'")
    expect(policy).not.to.match(/https?:|\*|unsafe/)
    const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!)
    expect(assets).to.have.length(4)
    for (const path of assets) {
      const asset = await get(path)
      expect(asset.status, path).to.equal(200)
      expect(asset.headers.get('x-content-type-options')).to.equal('nosniff')
      expect(Number(asset.headers.get('content-length'))).to.be.greaterThan(50)
      await asset.arrayBuffer()
    }
  })

  describe('the metrics', () => {
    it('are served to this machine', async () => {
      const body = { model: 'gpt-5-mini', messages: hello }
      await gateway.post('/v1/chat/completions', body)
      const response = await get('/metrics')
      const text = await response.text()
      expect(response.headers.get('content-type')).to.contain('text/plain')
      expect(text).to.match(
        /gateway_calls_total\{face="chat",modality="chat",mode="test",outcome="ok",cache="miss",provider="sandbox",model="gpt-5-mini"\} 1/,
      )
      expect(text).to.match(/gateway_build_info\{version="\d+\.\d+\.\d+",node="v\d+[.\d]+"\} 1/)
      expect(text).to.match(/gateway_running_requests 1/)
      expect(text).to.match(/gateway_call_marks_open 0/)
      expect(text).to.match(/gateway_upstream_attempts_total\{provider="sandbox",outcome="ok"\} 1/)
      expect(text).to.contain('gateway_request_duration_seconds_bucket')
      expect(text).to.match(/process_resident_memory_bytes \d/)
    })

    it('have the time to the first event of streams only', async () => {
      const count = async () => {
        const text = await (await get('/metrics')).text()
        const name = 'gateway_time_to_first_event_seconds_count{provider="sandbox"}'
        return Number(new RegExp(`^${RegExp.escape(name)} (.+)$`, 'm').exec(text)?.[1] ?? 0)
      }
      const before = await count()
      const body = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'a stream' }] }
      await (await gateway.post('/v1/chat/completions', body)).arrayBuffer()
      expect(await count()).to.equal(before)
      await (await gateway.post('/v1/chat/completions', { ...body, stream: true })).arrayBuffer()
      expect(await count()).to.equal(before + 1)
    })

    it('increase from one reading to the next', async () => {
      const of = 'provider="sandbox",model="gpt-5-mini"'
      const sums = async () => {
        const text = await (await get('/metrics')).text()
        const read = (name: string) => {
          const value = new RegExp(`^${RegExp.escape(name)} (.+)$`, 'm').exec(text)?.[1]
          return Number(value ?? 0)
        }
        return {
          calls: read(
            `gateway_calls_total{face="chat",modality="chat",mode="test",outcome="ok",cache="miss",${of}}`,
          ),
          input: read(`gateway_tokens_total{direction="input",mode="test",${of}}`),
          output: read(`gateway_tokens_total{direction="output",mode="test",${of}}`),
          nanoUsd: Math.round(read(`gateway_cost_usd_total{mode="test",${of}}`) * 1e9),
        }
      }
      const before = await sums()
      for (const content of ['one', 'two', 'three']) {
        const body = { model: 'gpt-5-mini', messages: [{ role: 'user', content }] }
        await gateway.post('/v1/chat/completions', body)
        await sums()
      }
      const after = await sums()
      const rows = (await gateway.usage()).slice(-3)
      const total = (column: 'input_tokens' | 'output_tokens' | 'cost_nano_usd') =>
        rows.reduce((sum, row) => sum + row[column]!, 0)
      expect(after).to.deep.equal({
        calls: before.calls + 3,
        input: before.input + total('input_tokens'),
        output: before.output + total('output_tokens'),
        nanoUsd: before.nanoUsd + total('cost_nano_usd'),
      })
      expect(after.nanoUsd).to.be.greaterThan(before.nanoUsd)
    })

    it('contain neither keys nor accounts', async () => {
      const text = await (await get('/metrics')).text()
      const [row] = await gateway.usage()
      for (const secret of [gateway.testKey, row!.account_id, row!.key_id]) {
        expect(text).not.to.contain(secret)
      }
    })

    it('are not served through a proxy', async () => {
      for (const name of ofProxies) {
        const expected = { status: 401, code: 'invalid_api_key' }
        await expectError(await get('/metrics', { [name]: '127.0.0.1' }), expected)
      }
    })

    it('are not served to a host name that resolves to this machine', async () => {
      const ask = async (host: string) => {
        const head = `GET /metrics HTTP/1.1\r\n${host}connection: close\r\n\r\n`
        return Number((await sendRaw(gateway.url, head)).split(' ', 2)[1])
      }
      for (const host of [
        'localhost',
        'LOCALHOST:8080',
        '127.0.0.1:1',
        '127.9.9.9',
        '[::1]:8080',
      ]) {
        expect(await ask(`host: ${host}\r\n`), host).to.equal(200)
      }
      const others = ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:80']
      for (const host of [...others, '192.168.0.7', '0.0.0.0', '']) {
        expect(await ask(`host: ${host}\r\n`), host).to.equal(401)
      }
    })

    it('require the token when one is configured', async () => {
      const token = 'metrics-token-0123456789'
      await using guarded = await startGateway({ variables: { METRICS_TOKEN: token } })
      const ask = (authorization?: string) =>
        guarded.fetch('/metrics', {
          key: null,
          headers: authorization === undefined ? {} : { authorization },
        })
      const good = await ask(`Bearer ${token}`)
      const bad = [await ask(), await ask('Bearer wrong'), await ask(token)]
      expect(good.status).to.equal(200)
      expect(bad.map(({ status }) => status)).to.deep.equal([401, 401, 401])
      expect(guarded.logText()).not.to.contain(token)
    })
  })
})

/** Headers that proxies and content delivery networks add, which name the client or the proxy. */
const ofProxies = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'x-envoy-external-address',
  'true-client-ip',
  'client-ip',
  'cf-connecting-ip',
  'cf-ray',
  'cdn-loop',
  'fastly-client-ip',
  'fly-client-ip',
  'x-appengine-user-ip',
  'x-azure-clientip',
]
