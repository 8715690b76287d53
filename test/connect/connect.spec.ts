import { expect } from 'chai'
import { clients } from '../../src/connect/clients.ts'
import {
  connectionText,
  examineConnection,
  type ConnectOptions,
} from '../../src/connect/connect.ts'
import { readTarget } from '../../src/connect/target.ts'
import { startGatewayDouble, type GatewayDouble } from '../support/connect/gateway-double.ts'
import {
  certificates,
  startScriptedProxy,
  type ScriptedProxy,
} from '../support/connect/scripted-proxy.ts'
import { challengeFaults } from '../support/connect/challenge-faults.ts'
import { metadataFaults } from '../support/connect/metadata-faults.ts'
import { passageFaults } from '../support/connect/passage-faults.ts'
import { signInFaults } from '../support/connect/sign-in-faults.ts'

/** Long enough for two comments of the double, which sends one every 20 ms. */
const standardHoldMs = 60
/** Where no fault is expected: a busy machine may delay the comments. */
const faultlessHoldMs = 1000

const seededFaults = [...challengeFaults, ...metadataFaults, ...signInFaults, ...passageFaults]

describe('the check of a connection', () => {
  let double: GatewayDouble
  let proxy: ScriptedProxy
  before(async () => {
    double = await startGatewayDouble()
    proxy = await startScriptedProxy(double.url)
  })
  after(async () => {
    await proxy.stop()
    await double.stop()
  })
  beforeEach(() => {
    proxy.script = {}
    proxy.requests.length = 0
    double.baseUrl = proxy.url
    double.saysAlso = { server: {}, resource: {} }
    double.registered.clear()
  })

  const examine = (more: Partial<ConnectOptions> & { url?: string } = {}) => {
    const { url = `${proxy.url}/mcp`, ...options } = more
    return examineConnection({
      target: readTarget(url)!,
      key: double.key,
      now: Date.now,
      isPublic: () => false,
      net: { askTimeoutMs: 500 },
      holdMs: standardHoldMs,
      ...options,
    })
  }

  it('finds no fault in a correct setup, and reports what works for each client', async () => {
    const found = await examine({ net: { askTimeoutMs: 10_000 }, holdMs: faultlessHoldMs })
    expect(found.faults).to.deep.equal([])
    expect(found.healthy).to.equal(true)
    const groups = new Map(found.works.map(({ who, works }) => [who, works]))
    for (const { name, document } of clients) {
      expect(groups.get(name), name).to.include.members([
        'gets a challenge to sign in',
        'finds the resource metadata',
        'finds the authorization server',
        'registers',
        'the sign-in starts',
        'the sign-in page opens',
        'reaches the token endpoint',
        ...(document === undefined ? [] : [`the sign-in starts for ${document.url}`]),
      ])
    }
    expect(groups.get('With the key')).to.include('1 tools are listed')
    const text = connectionText(found)
    expect(text).to.include('No fault was found.')
    expect(text).to.include('has a private address')
    expect(text).to.include(`This check registered ${clients.length} clients`)
    expect(text).not.to.include(double.key)
  })

  for (const {
    wrong,
    code,
    says,
    remedy,
    script,
    server,
    resource,
    baseUrl,
    holdMs = standardHoldMs,
    whom,
  } of seededFaults) {
    it(`reports the fault when ${wrong}`, async () => {
      proxy.script = script ?? {}
      double.saysAlso = { server: server ?? {}, resource: resource ?? {} }
      if (baseUrl !== undefined) double.baseUrl = baseUrl(proxy.url)
      const found = await examine({ holdMs })
      expect(found.healthy).to.equal(false)
      const all = found.faults.map((one) => `${one.code}: ${one.text} | ${one.remedy}`).join('\n')
      const named = found.faults.find((one) => one.code === code && says.test(one.text))
      expect(named, all).not.to.equal(undefined)
      expect(named!.remedy).to.match(remedy)
      if (whom !== undefined) expect(named!.whom).to.deep.equal(whom)
      expect(JSON.stringify(found)).not.to.include(double.key)
    })
  }

  it('is tested with more than 40 faults', () => {
    expect(new Set(seededFaults.map(({ wrong }) => wrong)).size).to.be.greaterThan(40)
  })

  it('registers as each client does, and deletes the registrations if the server allows it', async () => {
    proxy.script = {
      text: (body, { url }) => {
        if (url !== '/oauth/register') return body
        const client = JSON.parse(body) as { client_id: string }
        const uri = `${proxy.url}/oauth/register/${client.client_id}`
        return JSON.stringify({
          ...client,
          registration_client_uri: uri,
          registration_access_token: 'one',
        })
      },
      instead: ({ method, headers }, response) => {
        if (method !== 'DELETE' || headers.authorization !== 'Bearer one') return false
        response.writeHead(204).end()
        return true
      },
    }
    const { notes, faults } = await examine({ key: undefined })
    expect(faults).to.deep.equal([])
    expect([...double.registered.values()]).to.deep.equal(
      clients.map(({ registration }) => registration.redirect_uris),
    )
    const ended = proxy.requests.filter(({ method }) => method === 'DELETE')
    expect(ended).to.have.length(clients.length)
    expect(notes.join(' ')).not.to.include('This check registered')
    expect(notes.join(' ')).to.include('no key was given')
  })

  it('sends no request to another host, even if the metadata names one', async () => {
    const other = await startScriptedProxy(double.url)
    try {
      double.baseUrl = other.url
      await examine()
      expect(other.requests).to.deep.equal([])
    } finally {
      await other.stop()
    }
  })

  it('notes that registrations are rate-limited, without a fault', async () => {
    proxy.script = {
      instead: ({ url }, response) => {
        if (url !== '/oauth/register') return false
        response.writeHead(429, { 'retry-after': '60' }).end()
        return true
      },
    }
    const { faults, notes } = await examine({ holdMs: faultlessHoldMs })
    expect(faults).to.deep.equal([])
    expect(notes.join(' ')).to.match(/rate-limited \(429\): the check of Claude, Claude Code/)
  })

  it('limits the size of answers, and shows no terminal control characters', async () => {
    const bell = String.fromCodePoint(7, 27)
    double.saysAlso = { server: { issuer: `${bell}[2J${'x'.repeat(1_000_000)}` }, resource: {} }
    const { faults } = await examine()
    expect(JSON.stringify(faults).length).to.be.below(20_000)
    double.saysAlso = { server: { issuer: `${bell}[2Jevil` }, resource: {} }
    const text = connectionText(await examine())
    expect(text).to.include('[2Jevil')
    expect(text).not.to.include(bell[0]).and.not.to.include(bell[1])
  })

  it('requires TLS at a public address', async () => {
    const { faults, notes } = await examine({ isPublic: () => true })
    expect(faults.map(({ code }) => code)).to.deep.equal(['plain_http'])
    expect(notes.join(' ')).to.include('The key was not sent')
    expect(proxy.requests.filter(({ headers }) => keyIn(headers))).to.deep.equal([])
  })

  const keyIn = (headers: object) => JSON.stringify(headers).includes(double.key)

  describe('with TLS', () => {
    let secure: ScriptedProxy
    before(async () => {
      secure = await startScriptedProxy(double.url, { isEncrypted: true })
    })
    after(() => secure.stop())
    const name = 'pictures.public.example'
    const addressed = () => {
      const { port } = new URL(secure.url)
      double.baseUrl = `https://${name}:${port}`
      return `${double.baseUrl}/mcp`
    }
    const lookup: NonNullable<ConnectOptions['net']>['lookup'] = (_host, options, callback) => {
      const found = { address: '127.0.0.1', family: 4 }
      setImmediate(() =>
        options.all === true ? callback(null, [found]) : callback(null, found.address, 4),
      )
    }

    it('finds no fault with a trusted certificate', async () => {
      const net = { ca: certificates.cert, lookup }
      const found = await examine({ url: addressed(), net, holdMs: faultlessHoldMs })
      expect(found.faults).to.deep.equal([])
      expect(secure.requests.some(({ headers }) => keyIn(headers))).to.equal(true)
    })

    it('reports a self-signed certificate and other faults, and does not send the key', async () => {
      secure.requests.length = 0
      secure.script = { request: (headers) => void delete headers['x-api-key'] }
      const found = await examine({ url: addressed(), net: { lookup } })
      expect(found.faults.map(({ code }) => code)).to.deep.equal([
        'certificate_self_signed',
        'api_key_stripped',
      ])
      expect(found.notes.join(' ')).to.include('The key was not sent')
      expect(secure.requests.filter(({ headers }) => keyIn(headers))).to.deep.equal([])
      secure.script = {}
    })

    it('reports a certificate for another name', async () => {
      const url = addressed().replace(name, 'gateway.other.test')
      const { faults } = await examine({ url, net: { ca: certificates.cert, lookup } })
      expect(faults[0]!.code).to.equal('certificate_other_name')
    })

    it('reports that hosted clients connect only to port 443', async () => {
      const net = { ca: certificates.cert, lookup }
      const { faults } = await examine({ url: addressed(), net, isPublic: () => true })
      expect(faults).to.have.length(1)
      expect(faults[0]).to.deep.include({ code: 'other_port', whom: ['Claude', 'ChatGPT'] })
    })
  })

  it('reports why an address cannot be reached', async () => {
    const closed = await startScriptedProxy(double.url)
    await closed.stop()
    const codeOf = async (url: string, net?: ConnectOptions['net']) =>
      (await examine({ url, ...(net === undefined ? {} : { net }) })).faults[0]!.code
    expect(await codeOf(closed.url)).to.equal('unreachable')
    const unknown: NonNullable<ConnectOptions['net']>['lookup'] = (_host, _options, callback) =>
      setImmediate(() => callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []))
    expect(await codeOf('https://nobody.example', { lookup: unknown })).to.equal('name_unknown')
    expect(await codeOf(proxy.url.replace('http:', 'https:'))).to.equal('no_tls')
    proxy.script = { instead: () => true }
    expect(await codeOf(proxy.url)).to.equal('unreachable')
  })
})

describe('the checked address', () => {
  it('is completed with /mcp if it has no path', () => {
    expect(readTarget('gateway.example')!.endpoint.href).to.equal('https://gateway.example/mcp')
    expect(readTarget('http://localhost:8080/')!.endpoint.pathname).to.equal('/mcp')
    expect(readTarget('https://gateway.example/mcp#x')!.endpoint.hash).to.equal('')
  })

  it('must be an http address without credentials', () => {
    for (const typed of ['', 'ftp://gateway.example', 'https://me:secret@gateway.example', '::']) {
      expect(readTarget(typed), typed).to.equal(undefined)
    }
  })
})
