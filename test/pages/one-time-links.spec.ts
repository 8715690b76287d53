import { expect } from 'chai'
import { setUpText } from '../../src/accounts/set-up-link.ts'
import { contract } from '../support/contract.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'

const pages = { '/dashboard/setup': 'setUp', '/dashboard/invitations': 'acceptInvitation' }
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
]
const hostile = '"><script>alert(1)</script>'

describe('the pages of one-time links', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())
  const get = (path: string, headers: Record<string, string> = {}) =>
    gateway.fetch(path, { key: null, headers })
  const read = async (path: string) => (await get(path)).text()
  const inputsOf = (html: string) =>
    [...html.matchAll(/<input [^>]*name="(\w+)"[^>]*>/g)].map(([input, name]) => [name, input])

  it('are where the links lead', async () => {
    const { link } = await gateway.people.invite('grace@example.com')
    const setUp = /http\S+/.exec(setUpText(gateway.url, await gateway.people.setUpLink()))![0]
    for (const address of [link, setUp]) {
      const { pathname, search } = new URL(address)
      const response = await get(pathname + search)
      expect(response.status, pathname).to.equal(200)
      expect(response.headers.get('content-type')).to.equal('text/html; charset=utf-8')
      expect(search).to.have.length.greaterThan('?token='.length)
      expect(await response.text()).not.to.contain(search.slice('?token='.length))
      expect(gateway.logText()).not.to.contain(search.slice('?token='.length))
    }
  })

  for (const [path, operationId] of Object.entries(pages)) {
    describe(`such as ${path}`, () => {
      it('are kept by nothing, framed by nothing, and tell nobody of their address', async () => {
        const { headers } = await get(path)
        expect(headers.get('content-security-policy')!.split('; ')).to.have.members(policy)
        expect(headers.get('referrer-policy')).to.equal('no-referrer')
        expect(headers.get('x-content-type-options')).to.equal('nosniff')
        const known = await get(path, { 'if-none-match': headers.get('etag')! })
        for (const one of [headers, known.headers]) {
          expect(one.get('cache-control')).to.equal('no-store')
          expect(one.get('set-cookie')).to.equal(null)
        }
      })

      it('are the same for every token', async () => {
        const plain = await read(path)
        for (const token of [hostile, 'x'.repeat(2000), 'a&token=b']) {
          for (const written of [token, encodeURIComponent(token)]) {
            const html = await read(`${path}?token=${written}`)
            expect(html === plain, written).to.equal(true)
          }
        }
      })

      it('have neither script nor style of their own, and load nothing from elsewhere', async () => {
        const html = await read(path)
        expect(html).not.to.match(/<style|\sstyle=|\son\w+=|javascript:|https?:|=["']?\/\//i)
        const scripts = [...html.matchAll(/<script ([^>]*)>([^<]*)</g)]
        expect(scripts.map(([, , content]) => content)).to.deep.equal([''])
        const files = [...html.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)]
        expect(files).to.have.length(2)
        for (const [, file = ''] of files) {
          const response = await get(file)
          const type = file.endsWith('.js') ? 'text/javascript' : 'text/css'
          expect(response.status, file).to.equal(200)
          expect(response.headers.get('content-type')).to.equal(`${type}; charset=utf-8`)
          expect(response.headers.get('cache-control')).to.equal('no-cache')
          expect(await response.text()).not.to.match(/https?:|@import|url\(/i)
        }
      })

      it('ask for what their operation takes, and send it there', async () => {
        const html = await read(path)
        const [address] = Object.entries(contract.paths).find(([, item]) =>
          Object.values(item as object).some(
            (operation: { operationId?: string }) => operation.operationId === operationId,
          ),
        )!
        expect(/data-send="([^"]+)"/.exec(html)?.[1]).to.equal(address)
        const schemaName = operationId === 'setUp' ? 'SetUpRequest' : 'AcceptInvitationRequest'
        const { properties } = contract.components.schemas[schemaName] as { properties: object }
        const asked = inputsOf(html).map(([name]) => name)
        expect(['token', ...asked]).to.deep.equal(Object.keys(properties))
      })

      it('name each field, for people and for what fills in forms', async () => {
        const html = await read(path)
        const uses: Record<string, string> = {
          email: 'email',
          name: 'name',
          password: 'new-password',
        }
        for (const [name, input] of inputsOf(html)) {
          expect(html).to.contain(`<label for="${name}">`)
          expect(input).to.contain(`id="${name}"`).and.contain(`autocomplete="${uses[name!]}"`)
        }
        const { minLength } = contract.components.schemas['NewPassword'] as { minLength: number }
        expect(html).to.contain(`At least ${minLength} characters`)
        expect(html).to.contain('<html lang="en">').and.contain('width=device-width')
        expect(html).to.match(/role="alert" tabindex="-1"/)
      })

      it('have each element that their script asks for', async () => {
        const [html, script] = [await read(path), await read('/dashboard/one-time-link.js')]
        const ids = [...script.matchAll(/byId\('([\w-]+)'\)\??/g)].map(([, id]) => id!)
        expect(ids).to.include.members(['form', 'alert', 'who', 'after'])
        const ofInvited = new Set(['signed-in', 'signed-in-as', 'sign-out'])
        for (const id of new Set(ids)) {
          const isThere = html.includes(`id="${id}"`)
          expect(isThere, id).to.equal(!ofInvited.has(id) || operationId !== 'setUp')
        }
      })
    })
  }

  it('take the token out of the address before anything is sent', async () => {
    const script = await read('/dashboard/one-time-link.js')
    const taken = script.indexOf('= takeToken()')
    expect(taken).to.be.greaterThan(0).and.lessThan(script.indexOf('call('))
    expect(script)
      .to.contain('history.replaceState')
      .and.not.match(/innerHTML|document\.write|eval/)
  })
})
