import { expect } from 'chai'
import { examineConnection } from '../../src/connect/connect.ts'
import { readTarget } from '../../src/connect/target.ts'
import { startGatewayDouble, type GatewayDouble } from '../support/connect/gateway-double.ts'
import { startScriptedProxy } from '../support/connect/scripted-proxy.ts'
import { caddyConfiguration, nginxConfiguration, replaced } from '../support/deploy/composed.ts'
import { startGateway } from '../support/gateway.ts'
import { startCaddy } from '../support/servers/caddy.ts'
import { programPath } from '../support/program-path.ts'
import { startNginx } from '../support/servers/nginx.ts'
import { until } from '../support/until.ts'

type TestProxy = { url: string; stop(): Promise<unknown> }

/** Replaces a working directive of nginx by one that breaks clients. */
type Broken = {
  wrong: string
  from: string
  to: string
  also?: readonly [string, string]
  codes: readonly string[]
  pingMs?: number
}

const nginxFaults: readonly Broken[] = [
  {
    wrong: 'buffers answers',
    from: 'proxy_buffering off;',
    to: 'proxy_buffering on;',
    // Uses HTTP/1.0, because with HTTP/1.1 nginx would forward chunks even when it buffers.
    also: ['proxy_http_version 1.1;', 'proxy_http_version 1.0;'],
    codes: ['stream_buffered'],
  },
  {
    wrong: 'has its own limit of bodies',
    from: 'client_max_body_size 50331648;',
    to: 'client_max_body_size 1m;',
    codes: ['bodies_too_small'],
  },
  {
    wrong: 'waits too short',
    from: 'proxy_read_timeout 630s;',
    to: 'proxy_read_timeout 1s;',
    codes: ['stream_cut'],
    pingMs: 1200,
  },
  {
    wrong: 'hides a header of answers',
    from: 'proxy_http_version 1.1;',
    to: 'proxy_http_version 1.1; proxy_hide_header WWW-Authenticate;',
    codes: ['authorization_stripped', 'api_key_stripped', 'challenge_missing'],
  },
  {
    wrong: 'replaces a header of requests',
    from: 'proxy_http_version 1.1;',
    to: 'proxy_http_version 1.1; proxy_set_header Authorization "";',
    codes: ['authorization_stripped', 'handshake_refused', 'key_refused'],
  },
  {
    wrong: 'hides the cookies',
    from: 'proxy_http_version 1.1;',
    to: 'proxy_http_version 1.1; proxy_hide_header Set-Cookie;',
    codes: ['cookies_stripped', 'page_missing'],
  },
  {
    wrong: 'compresses streams',
    from: 'gzip off;',
    to: 'gzip on; gzip_types text/event-stream; gzip_min_length 1;',
    codes: ['stream_compressed'],
  },
  {
    wrong: 'has the gateway at another port',
    from: 'proxy_connect_timeout 1s;',
    to: 'proxy_connect_timeout 1s; # gone',
    codes: ['gateway_gone'],
  },
  {
    wrong: 'passes what is below /mcp alone',
    from: 'include LOCATIONS;',
    to: 'location /mcp/ { proxy_pass http://gateway; }',
    codes: ['redirected_to_slash', 'only_below_endpoint', 'proxy_page'],
  },
  {
    wrong: 'keeps /.well-known for certificates',
    from: 'include LOCATIONS;',
    to: 'location /.well-known/ { root /tmp/nothing; } include LOCATIONS;',
    codes: ['metadata_missing', 'proxy_page', 'preflight_refused'],
  },
  {
    wrong: 'asks for a password of its own',
    from: 'include LOCATIONS;',
    to: 'auth_basic "staff"; auth_basic_user_file /dev/null; include LOCATIONS;',
    codes: ['proxy_page', 'challenge_of_proxy'],
  },
]

describe('doctor --connect through a proxy', () => {
  let double: GatewayDouble
  before(async () => {
    double = await startGatewayDouble()
  })
  after(() => double.stop())

  const examine = async (url: string, holdMs: number) => {
    double.baseUrl = url
    const { faults } = await examineConnection({
      target: readTarget(url)!,
      key: double.key,
      now: Date.now,
      isPublic: () => false,
      net: { askTimeoutMs: 3000 },
      holdMs,
    })
    return faults.map(({ code }) => code)
  }
  const addresses = () =>
    ['gateway-1:8080', 'gateway-2:8080'].map((name) => [name, double.url.slice(7)] as const)

  /** Starts the gateway after the proxy, because a gateway needs the proxy's URL at start. */
  const examineGateway = async (
    startProxy: (addresses: readonly (readonly [string, string])[]) => Promise<TestProxy>,
  ) => {
    const passage = await startScriptedProxy('')
    passage.script = {
      instead: (_request, response) => {
        response.writeHead(503).end()
        return true
      },
    }
    const inside = passage.url.slice(7)
    const names = ['gateway-1:8080', 'gateway-2:8080'] as const
    const proxy = await startProxy(names.map((name) => [name, inside]))
    const gateway = await startGateway({
      variables: { BASE_URL: proxy.url, CLIENT_DOCUMENTS: 'closed' },
      file: { trusted_proxies: ['127.0.0.1'], limits: { ping_interval_ms: 100 } },
    })
    passage.upstream = gateway.url
    passage.script = {}
    try {
      await until('the gateway is reached', () =>
        fetch(`${proxy.url}/ready`)
          .then(({ ok }) => ok)
          .catch(() => false),
      )
      return await examineConnection({
        target: readTarget(proxy.url)!,
        key: gateway.testKey,
        now: Date.now,
        isPublic: () => false,
        holdMs: 500,
      })
    } finally {
      await proxy.stop()
      await passage.stop()
      await gateway.stop()
    }
  }

  it('finds no fault with deploy/proxies/Caddyfile', async function () {
    programPath('caddy', this)
    const { faults } = await examineGateway((all) =>
      startCaddy(({ port }) => caddyConfiguration(port, all)),
    )
    expect(faults).to.deep.equal([])
  })

  it('finds no fault with deploy/proxies/nginx.conf', async function () {
    programPath('nginx', this)
    const { faults } = await examineGateway((all) =>
      startNginx(({ port, folder }) => nginxConfiguration(port, folder, all)),
    )
    expect(faults).to.deep.equal([])
  })

  for (const {
    wrong,
    from,
    to,
    also: [part, other] = ['', ''],
    codes,
    pingMs = 20,
  } of nginxFaults) {
    it(`names the fault when nginx ${wrong}`, async function () {
      programPath('nginx', this)
      double.pingMs = pingMs
      const nginx = await startNginx(({ port, folder }) => {
        const locations = `${folder}/gateway-locations.conf`
        const whole = nginxConfiguration(port, folder, addresses())
        const [before, after] = [from, to].map((text) => text.replace('LOCATIONS', locations))
        const broken = replaced(whole, [before!, after!]).replace(part, other)
        return to.endsWith('# gone')
          ? broken.replaceAll(double.url.slice(7), '127.0.0.1:9')
          : broken
      })
      try {
        const found = await examine(nginx.url, pingMs + 300)
        expect(found).not.to.have.length(0)
        expect(codes).to.include.members(found)
      } finally {
        await nginx.stop()
      }
    })
  }
})
