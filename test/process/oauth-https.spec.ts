import { join } from 'node:path'
import { expect } from 'chai'
import { freePort } from '../../scripts/free-port.ts'
import {
  caddyConfiguration,
  nginxConfiguration,
  replaced,
  writeNginxTls,
} from '../support/deploy/composed.ts'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import type { Facts } from '../support/https-client.ts'
import { runProgram } from '../support/program.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'
import { startCaddy } from '../support/servers/caddy.ts'
import { programPath } from '../support/program-path.ts'
import type { Daemon } from '../support/servers/daemon.ts'
import { startNginx } from '../support/servers/nginx.ts'

/** A self-signed certificate for tests. */
const certificate = join(projectFolder, 'test/support/public-host-certificate-for-tests.pem')
const certificateKey = join(projectFolder, 'test/support/public-host-key-for-tests.pem')

/** Starts a proxy of deploy/ with TLS on `tlsPort`, which forwards to `insidePort`. */
type Start = (tlsPort: number, insidePort: number) => Promise<Daemon>

const addresses = (port: number) =>
  ['gateway-1:8080', 'gateway-2:8080'].map((name) => [name, `127.0.0.1:${port}`] as const)

const startNginxWithTls: Start = (tlsPort, insidePort) =>
  startNginx(({ port, folder }) => {
    writeNginxTls(tlsPort, folder)
    return nginxConfiguration(port, folder, addresses(insidePort))
  })

const startCaddyWithTls: Start = (tlsPort, insidePort) =>
  startCaddy(({ port }) =>
    replaced(
      caddyConfiguration(port, addresses(insidePort)),
      ['admin off', 'admin off\n\tauto_https off'],
      [
        `http://127.0.0.1:${port} {`,
        `https://:${tlsPort} {\n\ttls ${certificate} ${certificateKey}`,
      ],
    ),
  )

const proxies: [program: 'nginx' | 'caddy', start: Start][] = [
  ['nginx', startNginxWithTls],
  ['caddy', startCaddyWithTls],
]
for (const [program, start] of proxies) {
  describe(`a gateway with an https address behind ${program}`, function () {
    let folder: TemporaryFolder
    let server: ServerProcess
    let proxy: Daemon
    let url: string
    let facts: Facts
    before(async function () {
      programPath(program, this)
      folder = makeFolder()
      const [tlsPort, port] = [await freePort(), await freePort()]
      url = `https://localhost:${tlsPort}`
      const settings = { BASE_URL: url, CLIENT_DOCUMENTS: 'closed', SIGN_UP: 'open' }
      const variables = { PORT: String(port), ...settings }
      server = await startServer({ folder: folder.path, variables })
      proxy = await start(tlsPort, port)
      const { code, stdout, stderr } = await runProgram(
        'test/support/https-client.ts',
        [url, printedKey(server)!],
        { folder: folder.path, variables: { NODE_EXTRA_CA_CERTS: certificate } },
      )
      expect(code, stderr).to.equal(0)
      facts = JSON.parse(stdout) as Facts
    })
    after(async () => {
      await proxy?.stop()
      server?.kill('SIGKILL')
      await server?.ended
      folder?.remove()
    })

    it("accepts the SDK's client, which connects, calls and renews its token", () => {
      const { asked, tools, chat, isRenewed } = facts.connected
      expect(asked).to.deep.equal({ origin: url, resource: `${url}/mcp`, issuer: url })
      expect(tools).to.be.greaterThan(4)
      expect(chat.isError, chat.text).to.equal(false)
      expect(chat.text).to.contain('This is the sandbox')
      expect(isRenewed).to.equal(true)
    })

    it('identifies a person by a cookie that no other host can set', () => {
      const { statuses, asksAtOnce, cookies, set } = facts.person
      expect(statuses).to.deep.equal([200, 201, 200, 200, 303])
      expect(asksAtOnce).to.equal(true)
      expect(cookies).to.include('__Host-gateway_session /')
      expect(set).to.match(
        /^__Host-gateway_session=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=\d+$/,
      )
    })

    it('lets a person sign in with a passkey of its public host, whatever the forwarded headers say', () => {
      const { statuses, rpId, set, refusal } = facts.passkey
      expect(statuses).to.deep.equal([201, 201, 401])
      expect(rpId).to.equal('localhost')
      expect(set).to.match(/^__Host-gateway_session=.*; Secure;/)
      expect(refusal).to.contain(`passkeys of this gateway work only at ${url}.`)
    })

    it('answers with the same addresses for any Host and X-Forwarded-Proto', () => {
      const { honest, forged } = facts.answers
      expect(forged).to.deep.equal(honest)
      const { metadata, refusal, authorization } = honest
      for (const { status, body } of metadata) {
        expect(status).to.equal(200)
        expect(body).to.contain(`"${url}`).and.not.to.contain('http://')
      }
      expect(refusal.status).to.equal(401)
      const document = `${url}/.well-known/oauth-protected-resource/mcp`
      expect(refusal.challenge).to.contain(`resource_metadata="${document}"`)
      expect(authorization.status).to.equal(303)
      expect(authorization.cookies).to.have.length(4)
      for (const line of authorization.cookies!) expect(line).to.match(/; secure(;|$)/)
    })
  })
}
