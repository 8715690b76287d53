import { expect } from 'chai'
import {
  createGuardedFetch,
  FetchRefusal,
  type GuardedFetch,
} from '../../src/pictures/guarded-fetch.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'

const bytesMax = 10_000
const ten = Buffer.from('0123456789')

describe('the guarded fetch of untrusted URLs', () => {
  let host: PublicHost
  let guarded: GuardedFetch
  before(async () => {
    host = await startPublicHost()
    guarded = createGuardedFetch({
      ...host.net,
      connectTimeoutMs: 500,
      idleTimeoutMs: 200,
      totalTimeoutMs: 600,
      redirectsMax: 3,
      connectionsMax: 8,
    })
  })
  beforeEach(() => host.reset())
  after(async () => {
    await guarded.close()
    await host.stop()
  })

  const get = async (address: string, signal = new AbortController().signal): Promise<Buffer> => {
    const pieces: Buffer[] = []
    await guarded.fetch(address, { bytesMax, signal }, { push: (piece) => pieces.push(piece) })
    return Buffer.concat(pieces)
  }
  const refusal = async (address: string): Promise<FetchRefusal> => {
    const startedAt = performance.now()
    const error: unknown = await get(address).then(
      () => new Error('It was fetched.'),
      (thrown: unknown) => thrown,
    )
    expect(performance.now() - startedAt).to.be.lessThan(2000)
    expect(error).to.be.instanceOf(FetchRefusal)
    return error as FetchRefusal
  }

  it('fetches a public URL with headers that name the gateway and no person', async () => {
    host.serve('/a.png?x=1&y=%2F', ten)
    expect(await get(host.address('/a.png?x=1&y=%2F'))).to.deep.equal(ten)
    const [{ headers }] = host.requests as [(typeof host.requests)[0]]
    expect(Object.keys(headers).sort()).to.deep.equal([
      'accept',
      'accept-encoding',
      'connection',
      'host',
      'user-agent',
    ])
    expect(headers['user-agent']).to.match(/^model-access-gateway\/\d+\.\d+\.\d+$/)
  })

  it('follows a few redirects, also to another name', async () => {
    const [first, other] = [host.address('/1'), host.address('/3', 'other.public.example')]
    host.serve('/1', (response) => response.writeHead(302, { location: '/2' }).end())
    host.serve('/2', (response) => response.writeHead(307, { location: other }).end('ignored'))
    host.serve('/3', ten)
    expect(await get(first)).to.deep.equal(ten)
  })

  const spellings = [
    'https://127.0.0.1',
    'https://127.1',
    'https://0x7f000001',
    'https://0x7f.0.0.1',
    'https://2130706433',
    'https://0177.0.0.1',
    'https://017700000001',
    'https://%31%32%37.0.0.1',
    'https://１２７.０.０.１',
    'https://①②⑦.⓪.⓪.①',
    'https://127。0。0。1',
    'https://127.0.0.1.',
    'https://[::1]',
    'https://[::ffff:127.0.0.1]',
    'https://[::ffff:7f00:1]',
    'https://[::127.0.0.1]',
    'https://[0:0:0:0:0:0:0:1]',
    'https://[64:ff9b::127.0.0.1]',
    'https://0.0.0.0',
    'https://0',
    'https://10.0.0.1',
    'https://172.16.0.1',
    'https://192.168.1.1',
    'https://169.254.169.254',
    'https://100.100.100.200',
    'https://[fc00::1]',
    'https://[fe80::1]',
    'https://255.255.255.255',
    'https://localhost',
    'https://LOCALHOST.',
    'https://gateway',
  ]
  for (const origin of spellings) {
    it(`does not connect to ${origin}`, async () => {
      const { reason } = await refusal(`${origin}:${host.port}/`)
      expect(reason).to.equal('address')
      expect(host.insideConnections()).to.equal(0)
    })
  }

  const strange = [
    'http://pictures.public.example/a.png',
    'file:///etc/passwd',
    'gopher://pictures.public.example/',
    'ftp://pictures.public.example/a.png',
    'data:image/png;base64,aaaa',
    'blob:https://pictures.public.example/1',
    '//pictures.public.example/a.png',
    '/etc/passwd',
    'a.png',
    '',
    'https://',
    'https://pictures.public.example:1/a.png',
    'https://pictures.public.example/a.png',
  ]
  for (const address of strange) {
    it(`does not connect to '${address}'`, async () => {
      const { reason } = await refusal(address)
      expect(reason).to.equal('address')
      expect(host.publicConnections()).to.equal(0)
    })
  }

  it('refuses URLs with credentials', async () => {
    const address = host.address('/a').replace('https://', 'https://user:secret@')
    const { reason, message } = await refusal(address)
    expect(reason).to.equal('address')
    expect(message).to.not.include('secret')
  })

  const names = [
    { name: 'resolves to loopback', answers: [['127.0.0.1']] },
    { name: 'resolves to loopback in IPv6', answers: [['::1']] },
    { name: 'resolves to a metadata address', answers: [['169.254.169.254']] },
    { name: 'resolves to public and private addresses', answers: [['127.0.0.2', '127.0.0.1']] },
    { name: 'resolves to private and public addresses', answers: [['127.0.0.1', '127.0.0.2']] },
    { name: 'resolves to no address', answers: [[]] },
  ]
  for (const { name, answers } of names) {
    it(`does not connect to a name that ${name}`, async () => {
      host.resolve('trick.public.example', ...answers)
      const { reason } = await refusal(host.address('/', 'trick.public.example'))
      expect(reason).to.equal('address')
      expect(host.insideConnections() + host.publicConnections()).to.equal(0)
    })
  }

  it('resolves a name once, so that DNS rebinding has no effect', async () => {
    host.serve('/a', (response) => response.writeHead(200, { connection: 'close' }).end(ten))
    host.resolve('rebinding.public.example', ['127.0.0.2'], ['127.0.0.1'])
    expect(await get(host.address('/a', 'rebinding.public.example'))).to.deep.equal(ten)
    const { reason } = await refusal(host.address('/a', 'rebinding.public.example'))
    expect(reason).to.equal('address')
    expect(host.insideConnections()).to.equal(0)
  })

  const redirects = [
    { name: 'to loopback', location: (port: number) => `https://127.0.0.1:${port}/` },
    { name: 'to a private name', location: (port: number) => `https://localhost:${port}/` },
    {
      name: 'to a metadata address',
      location: (port: number) => `https://169.254.169.254:${port}/`,
    },
    { name: 'to plain HTTP', location: () => 'http://pictures.public.example/' },
    { name: 'to a file', location: () => 'file:///etc/passwd' },
    { name: 'to another port', location: () => 'https://pictures.public.example:22/' },
    { name: 'to nonsense', location: () => 'https://[/' },
  ]
  for (const status of [301, 302, 303, 307, 308]) {
    for (const { name, location } of redirects) {
      it(`does not follow a ${status} ${name}`, async () => {
        const headers = { location: location(host.port) }
        host.serve('/a', (response) => response.writeHead(status, headers).end())
        const { reason } = await refusal(host.address('/a'))
        expect(reason).to.equal('address')
        expect(host.insideConnections()).to.equal(0)
      })
    }
  }

  it('stops at a redirect loop', async () => {
    host.serve('/a', (response) => response.writeHead(302, { location: '/a' }).end())
    expect((await refusal(host.address('/a'))).reason).to.equal('unreachable')
    expect(host.requests).to.have.length(4)
  })

  const bodies: { name: string; reason: FetchRefusal['reason']; path: string }[] = [
    { name: 'never ends', reason: 'size', path: '/endless' },
    { name: 'announces too many bytes', reason: 'size', path: '/announced' },
    { name: 'is shorter than announced', reason: 'unreachable', path: '/short' },
    { name: 'drips', reason: 'unreachable', path: '/dripping' },
    { name: 'pauses', reason: 'unreachable', path: '/pausing' },
    { name: 'never begins', reason: 'unreachable', path: '/silent' },
    { name: 'breaks off', reason: 'unreachable', path: '/cut' },
    { name: 'is missing', reason: 'unreachable', path: '/missing' },
    { name: 'is forbidden', reason: 'unreachable', path: '/forbidden' },
  ]
  for (const { name, reason, path } of bodies) {
    it(`fails in time when a body ${name}`, async () => {
      serveBadBodies(host)
      expect((await refusal(host.address(path))).reason).to.equal(reason)
    })
  }

  it('reads no more bytes than announced', async () => {
    serveBadBodies(host)
    expect(await get(host.address('/lying'))).to.deep.equal(ten.subarray(0, 4))
  })

  it('closes at once when the caller disconnects', async () => {
    serveBadBodies(host)
    const leaving = new AbortController()
    const fetching = get(host.address('/silent'), leaving.signal)
    leaving.abort()
    const error = await fetching.catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(FetchRefusal)
  })
})

function serveBadBodies(host: PublicHost): void {
  host.serve('/endless', (response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(4096)));
    }
    response.on('drain', more)
    more()
  })
  host.serve('/announced', (response) => {
    response.writeHead(200, { 'content-length': String(bytesMax + 1) })
    response.flushHeaders()
  })
  host.serve('/short', (response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write(ten)
    setImmediate(() => response.destroy())
  })
  host.serve('/dripping', (response) => {
    const drips = setInterval(() => response.write('x'), 50)
    response.once('close', () => clearInterval(drips))
  })
  host.serve('/pausing', (response) => void response.write('x'))
  host.serve('/silent', () => undefined)
  host.serve('/cut', (response) => {
    response.write(ten)
    setImmediate(() => response.destroy())
  })
  host.serve('/forbidden', (response) => response.writeHead(403).end('You may not.'))
  host.serve('/lying', (response) => {
    response.socket?.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n0123456789')
  })
}
