import { expect } from 'chai'
import { clientText, redirectHostOf } from '../../../src/oauth/pages/client-text.ts'

const registered = { publishedBy: undefined }
const textFor = (name: string | undefined, redirectUri = 'https://claude.ai/api/callback') =>
  clientText({ ...registered, name }, redirectUri)

describe('the description of a client', () => {
  for (const [given, shown] of [
    ['Cursor', 'Cursor'],
    ['  Two\r\nlines\t ', 'Two lines'],
    ['Pay\u202Elap\u2066x', 'Pay lap x'],
    ['zero\u200Bwidth\u0000', 'zero width'],
    ['a' + '\u0301'.repeat(500), 'a\u0301\u0301\u0301'],
    ['x'.repeat(10_000), `${'x'.repeat(59)}…`],
    ['\u{1F600}'.repeat(40), `${'\u{1F600}'.repeat(29)}\uFFFD…`],
    ['', 'claude.ai'],
    [undefined, 'claude.ai'],
    ['\u202E \u2066', 'claude.ai'],
  ] as const) {
    it(`has a name of one short line: ${JSON.stringify(given?.slice(0, 20))}`, () => {
      expect(textFor(given).name).to.equal(shown)
    })
  }

  for (const [redirectUri, place] of [
    ['https://claude.ai/api/mcp/auth_callback', 'claude.ai'],
    ['https://CLAUDE.ai:8443/x', 'claude.ai:8443'],
    ['https://claude.ai@evil.example/x', 'evil.example'],
    ['https://cl\u0430ude.ai/x', 'xn--clude-5ve.ai'],
    ['http://127.0.0.1:33418/', 'an application on this computer'],
    ['http://localhost:4711/callback', 'an application on this computer'],
    ['http://[::1]:4711/callback', 'an application on this computer'],
    ['http://localhost.evil.example/', 'localhost.evil.example'],
    [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'the application on this device that opens cursor: links',
    ],
  ] as const) {
    it(`says what receives the answer at ${redirectUri}`, () => {
      expect(textFor('Some name', redirectUri).place).to.equal(place)
    })
  }

  it('has the redirect host or scheme', () => {
    expect(redirectHostOf('https://CLAUDE.ai:8443/x')).to.equal('claude.ai')
    expect(redirectHostOf('http://127.0.0.1:33418/')).to.equal('127.0.0.1')
    expect(redirectHostOf('cursor://anysphere.cursor-mcp/oauth/callback')).to.equal('cursor:')
  })

  it('says where its name comes from', () => {
    expect(textFor('Claude').proof).to.contain('The application chose this name')
    const published = { name: 'Claude', publishedBy: 'claude.ai' }
    expect(clientText(published, 'https://claude.ai/').proof).to.contain('comes from claude.ai')
  })
})
