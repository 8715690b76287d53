import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { contract } from '../support/contract.ts'
import { copyBy, expectCount, expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { eventually } from '../support/until.ts'

type Written = { operationId: string; summary: string }
const written = [contract.paths, contract.webhooks].flatMap((entries) =>
  Object.values(entries as Record<string, Record<string, Written>>).flatMap(Object.values),
) as Written[]

describe('the API reference', () => {
  const dashboard = useDashboard()
  const headingOf = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })
  const openOperation = async (id: string, query = '') => {
    const page = await dashboard.open(`/reference/${id}${query}`)
    await headingOf(page, written.find(({ operationId }) => operationId === id)!.summary).waitFor()
    return page
  }
  const send = (page: Page) =>
    page.getByRole('button', { name: 'Send', exact: true }).press('Enter')
  const bodyOf = (page: Page) => page.getByRole('textbox', { name: 'Body' })
  const stateOf = (page: Page) => page.getByRole('region', { name: 'Try it' }).getByRole('status')
  /** Waits until the state of the answer matches. */
  const expectState = async (page: Page, pattern: RegExp) => {
    const state = stateOf(page)
    await eventually(async () => expect(await state.innerText()).to.match(pattern), 20_000)
  }

  it('lists every operation, without a session', async () => {
    const page = await dashboard.open('', { as: null })
    await page.goto(`${dashboard.gateway.url}/docs`)
    await headingOf(page, 'API reference').waitFor()
    expect(new URL(page.url()).pathname).to.equal('/dashboard/reference')
    await expectCount(page.getByRole('main').locator('li a'), written.length)
    await page.getByText('Test keys and the sandbox').click()
    await page.getByText('sandbox:first-route-fails').waitFor()
    await page.getByRole('complementary').getByRole('link', { name: 'Sign in' }).waitFor()
    await expectGoodLooks(page)
  })

  it('opens an operation by its name, also by the links of before, and says when it has none', async () => {
    const page = await dashboard.open('/reference/createPicture', { as: null })
    await headingOf(page, 'No such operation').waitFor()
    await page.getByText('has no operation createPicture. The link may be misspelled').waitFor()
    await page.goto(`${dashboard.gateway.url}/docs#/Images/createImage`)
    await headingOf(page, 'Create images').waitFor()
    expect(new URL(page.url()).pathname).to.equal('/dashboard/reference/createImage')
    await page.getByRole('navigation').getByRole('link', { name: 'Edit images' }).click()
    await headingOf(page, 'Edit images').waitFor()
    await page.goBack()
    await headingOf(page, 'Create images').waitFor()
    const title = 'Create images · API reference · Model-Access Gateway'
    await eventually(async () => expect(await page.title()).to.equal(title))
  })

  it('finds operations by names, paths and parameters', async () => {
    const page = await dashboard.open('/reference')
    const found = page.getByRole('navigation', { name: 'Operations' }).locator('li')
    const search = page.getByRole('searchbox')
    await search.fill('image job')
    await page.getByText('7 found').waitFor()
    await search.fill('partial_images')
    await page.getByText('2 found').waitFor()
    expect(await found.allInnerTexts()).to.deep.equal(['Create images', 'Edit images'])
    await search.fill('/v1/embeddings')
    await search.press('Tab')
    await found.first().getByRole('link').press('Enter')
    await headingOf(page, 'Create embeddings').waitFor()
  })

  it('shows each operation, and what its schemas consist of', async () => {
    const page = await dashboard.open('/reference')
    await headingOf(page, 'API reference').waitFor()
    for (const { operationId, summary } of written) {
      await page.evaluate(`
        history.pushState(null, '', '/dashboard/reference/${operationId}')
        dispatchEvent(new PopStateEvent('popstate'))
      `)
      await headingOf(page, summary).waitFor()
      expect(await page.getByRole('alert').count(), operationId).to.equal(0)
    }
    await page.goto(`${dashboard.gateway.url}/dashboard/reference/createChatCompletion`)
    const body = page.getByRole('region', { name: 'Body' })
    await body.getByText('5 alternatives').first().click()
    await body.getByText('system, developer').waitFor()
    const effort = body.getByRole('listitem').filter({ hasText: /^reasoning_effort/ })
    await effort.getByText('string or null').waitFor()
    await effort.getByText('minimal').first().waitFor()
    await expectGoodLooks(page)
  })

  it('leads from a page of the dashboard to its operation, and back', async () => {
    const page = await dashboard.open('/keys')
    await page.getByRole('main').getByRole('link', { name: 'test key' }).first().click()
    const link = page.getByRole('link', { name: 'API: retrieveKey' })
    await link.click()
    await headingOf(page, 'Retrieve a key').waitFor()
    const id = page.getByLabel('id', { exact: true })
    expect(await id.inputValue()).to.match(/^key_/)
    await send(page)
    await expectState(page, /^200/)
    await page.getByRole('link', { name: 'Dashboard: API keys' }).click()
    await headingOf(page, 'API keys').waitFor()
  })

  it('shows the events of a chat as they arrive, until it is stopped', async () => {
    const page = await openOperation('createChatCompletion')
    const content = 'Tell me of the sea. sandbox:slow-stream=500'
    const body = { model: 'gpt-5.4-mini', messages: [{ role: 'user', content }] }
    await bodyOf(page).fill(JSON.stringify(body))
    await page.getByLabel('Stream the answer').check()
    await send(page)
    await expectState(page, /^200\s+Receiving, [2-9] events/)
    const spoken = page.locator('.api-spoken')
    await spoken.waitFor()
    const before = (await spoken.innerText()).length
    await eventually(
      async () => expect((await spoken.innerText()).length).to.be.above(before),
      20_000,
    )
    await page.getByRole('button', { name: 'Stop' }).click()
    await expectState(page, /^200\s+[\d.]+ s, \d+ events/)
    expect(await page.getByRole('alert').count()).to.equal(0)
    await expectGoodLooks(page)
  })

  it('shows unfinished pictures, and the finished one in their place', async () => {
    const page = await openOperation('createImage')
    const body = { model: 'gpt-image-2', prompt: 'A lighthouse sandbox:slow-stream=1000' }
    await bodyOf(page).fill(JSON.stringify(body))
    await page.getByLabel('Stream the answer').check()
    await send(page)
    const picture = page.getByRole('img', { name: 'Picture 1 of the answer' })
    await picture.waitFor()
    expect(await stateOf(page).innerText()).to.match(/Receiving/)
    const first = await picture.getAttribute('src')
    await expectState(page, /^200\s+[\d.]+ s, 3 events/)
    const last = await picture.getAttribute('src')
    expect(last)
      .to.match(/^data:image\/png;base64,/)
      .and.not.to.equal(first)
    await expectCount(page.getByRole('img', { name: /of the answer/ }), 1)
  })

  it('sends a typed API key, and shows refusals', async () => {
    const page = await dashboard.open('/reference/createEmbedding', { as: null })
    await page.getByLabel('API key').fill('mag_test_wrong')
    await send(page)
    await expectState(page, /^401/)
    await page.getByText('"invalid_api_key"').waitFor()
    await page.getByLabel('API key').fill(dashboard.gateway.testKey)
    await send(page)
    await expectState(page, /^200/)
    await page
      .getByText('x-request-id')
      .or(page.getByText(/^\d+ headers$/))
      .first()
      .waitFor()
    await page.goto(`${dashboard.gateway.url}/dashboard/reference/listSessions`)
    await page.getByText('only the session of a person can send this request').waitFor()
  })

  it('sends requests of a person that change something, and forms', async () => {
    const page = await openOperation('createKey')
    await page.getByText('the request changes what it names').waitFor()
    await send(page)
    await expectState(page, /^201/)
    await page.goto(`${dashboard.gateway.url}/dashboard/reference/createToken`)
    await send(page)
    await expectState(page, /^40[01]/)
    await page.getByText('"invalid_').first().waitFor()
    await page.goto(`${dashboard.gateway.url}/dashboard/reference/postMcp`)
    await page.getByRole('combobox', { name: 'Example' }).selectOption('List the tools')
    await send(page)
    await expectState(page, /^200/)
    await page.getByText('generate-image').first().waitFor()
  })

  it('copies examples that run', async () => {
    const page = await openOperation('createChatCompletion')
    const { url, testKey } = dashboard.gateway
    const body = { model: 'gpt-5.4-mini', messages: [{ role: 'user', content: "It's $5 `now`" }] }
    await bodyOf(page).fill(JSON.stringify(body))
    const env = { ...process.env, GATEWAY_API_KEY: testKey }
    const run = async (name: string, command: string, words: string[]) => {
      await page.getByRole('button', { name, exact: true }).click()
      const text = await copyBy(page, `Copy ${name}`)
      expect(text).to.include(`${url}/v1/chat/completions`)
      return promisify(execFile)(command, [...words, text], { env })
    }
    expect((await run('curl', 'sh', ['-c'])).stdout).to.include('"object":"chat.completion"')
    const node = await run('TypeScript', process.execPath, ['--input-type=module', '-e'])
    expect(node.stdout).to.match(/^200 \{"id":"chatcmpl-/)
    await page.getByLabel('Stream the answer').check()
    const streamed = await run('TypeScript', process.execPath, ['--input-type=module', '-e'])
    expect(streamed.stdout).to.match(/^data: \{.*data: \[DONE\]/s)
  })
})
