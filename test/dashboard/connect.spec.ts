import { expect } from 'chai'
import { copyBy, expectGoodLooks, expectText, useDashboard } from '../support/dashboard.ts'
import { callTool, connectClient } from '../support/mcp-client.ts'

describe('the page to connect clients', () => {
  const dashboard = useDashboard()

  it('shows the address, warns that it is not public, and shows the configuration of each client', async () => {
    const page = await dashboard.open('/connect')
    const tools = `${dashboard.gateway.url}/mcp`
    expect(await copyBy(page, 'Copy the address')).to.equal(tools)
    await page.getByText('This address cannot be reached from the internet.').waitFor()
    await page.getByText('No client yet. Add the address').waitFor()
    const cursor = await page.getByRole('link', { name: 'Add to Cursor' }).getAttribute('href')
    const { protocol, host, pathname, searchParams } = new URL(cursor!)
    expect(protocol + host + pathname).to.equal('cursor:anysphere.cursor-deeplink/mcp/install')
    expect(JSON.parse(atob(searchParams.get('config')!))).to.deep.equal({ url: tools })
    const code = await page.getByRole('link', { name: 'Add to VS Code' }).getAttribute('href')
    const server: unknown = JSON.parse(
      decodeURIComponent(code!.slice('vscode:mcp/install?'.length)),
    )
    expect(server).to.deep.equal({ name: 'gateway', type: 'http', url: tools })
    await expectGoodLooks(page)
  })

  it('lists connected clients, and failed attempts with a remedy', async () => {
    const { gateway } = dashboard
    const client = await connectClient(gateway)
    await callTool(client, 'list-image-models')
    await client.close()
    const expired = await gateway.createKey('test', { expiresAt: 1 })
    const headers = { 'user-agent': 'Cursor/2.0.1 (linux)' }
    for (const key of [expired, expired, 'wrong']) await gateway.fetch('/mcp', { key, headers })
    const page = await dashboard.open('/connect')
    const connected = page.getByRole('listitem').filter({ hasText: 'list-image-models' })
    await expectText(connected, /^test 1 connected .*, last called/)
    const failed = page.getByRole('listitem').filter({ hasText: 'expired key' })
    await expectText(
      failed,
      /^Cursor used an expired key .*, 2 times \(header authorization\)[^]*Create another key/,
    )
    await page.getByText('used a key that does not exist').waitFor()
    await expectGoodLooks(page)

    // A call that its key may not make is no attempt to connect; a browser has its own name.
    const narrow = await gateway.createKey('test', { models: ['gpt-5-mini'] })
    const asked = { model: 'gpt-5.4-mini', messages: [{ role: 'user', content: 'Hello.' }] }
    for (let count = 0; count < 25; count++) {
      const headers = { 'user-agent': `agent-${count}/1` }
      const refused = await gateway.post('/v1/chat/completions', asked, { key: narrow, headers })
      expect(refused.status).to.equal(403)
    }
    const userAgent =
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36'
    await gateway.fetch('/mcp', { key: expired, headers: { 'user-agent': userAgent } })
    await page.reload()
    const attempts = page.getByRole('listitem')
    await expectText(attempts.filter({ hasText: 'Chrome' }), /^Chrome used an expired key/)
    expect(await attempts.filter({ hasText: 'may not call' }).count()).to.equal(0)
  })

  it('shows members only their own connections and attempts', async () => {
    const member = await dashboard.gateway.people.signIn({ role: 'member' })
    const page = await dashboard.open('/connect', { as: member })
    await page.getByText('No client yet. Add the address').waitFor()
    await page.getByText('No failed attempts.').waitFor()
    expect(await page.getByText('a key that does not exist').count()).to.equal(0)
    await expectGoodLooks(page)
  })
})
