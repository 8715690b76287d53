import { expect } from 'chai'
import { expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import type { ImageDouble } from '../support/image-doubles/double.ts'
import { openaiKey, startOpenaiDouble } from '../support/image-doubles/openai.ts'
import { eventually } from '../support/until.ts'

const mistralKey = 'abcdefghijklmnopqrstuvwxyz123456'

describe('the providers page', () => {
  const file = {
    providers: [
      {
        id: 'own',
        kind: 'openai-compatible',
        base_url: 'http://127.0.0.1:9/v1',
        models: ['small-one'],
      },
    ],
  }
  let openAi: ImageDouble
  before(async () => (openAi = await startOpenaiDouble()))
  after(() => openAi.stop())
  const dashboard = useDashboard({ file, sleep: async () => undefined })

  it('shows failures of a provider, and that its route is paused', async () => {
    const { gateway } = dashboard
    const body = { model: 'small-one', messages: [{ role: 'user', content: 'Hello' }] }
    for (let calls = 0; calls < 5; calls++) {
      await gateway.post('/v1/chat/completions', body, { key: gateway.liveKey })
    }
    const page = await dashboard.open('/providers')
    const own = page.getByRole('region', { name: 'own' })
    await eventually(async () => {
      const text = await own.innerText()
      expect(text).to.include('100% failed').and.to.include('http://127.0.0.1:9/v1')
      expect(text).to.match(/Last failure\s.*unreachable, small-one/)
      expect(text).to.match(/small-one\s+paused after failures, tried again in/)
    })
    await expectGoodLooks(page)
  })

  it('shows how to configure a vendor, and reloads the settings', async () => {
    const page = await dashboard.open('/providers')
    await page.getByText(/^Mistral \d+ models/).click()
    await page.getByText('MISTRAL_API_KEY=your-key').waitFor()
    dashboard.gateway.rewrite(file, { MISTRAL_API_KEY: mistralKey })
    await page.getByRole('button', { name: 'Reload the settings' }).click()
    await page.getByText('Changed: MISTRAL_API_KEY').waitFor()
    await page.getByRole('region', { name: 'Mistral' }).waitFor()
    expect(await page.content()).not.to.include(mistralKey)
    await expectGoodLooks(page)
  })

  it('adds, tests, replaces and removes a key of a vendor', async () => {
    dashboard.gateway.rewrite(file, { OPENAI_BASE_URL: openAi.url })
    const page = await dashboard.open('/providers')
    await page.getByText(/^OpenAI \d+ models/).click()
    const field = page.getByLabel('API key of OpenAI')
    await field.fill('"in quotes"')
    await page.getByRole('button', { name: 'Save the key' }).click()
    await page.getByText('the key is in quotes').waitFor()
    await expectGoodLooks(page)
    await field.fill('sk-proj-not-the-right-one')
    await page.getByRole('button', { name: 'Save the key' }).click()
    await page.getByText('OpenAI rejects the key (HTTP 401)').waitFor()
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Save anyway' }).click()
    const card = page.getByRole('region', { name: 'OpenAI' })
    await card.getByRole('button', { name: 'Test the key …-one' }).click()
    await card.getByText('OpenAI rejects the key (HTTP 401)').waitFor()
    await expectGoodLooks(page)
    await card.getByRole('button', { name: 'Replace the key …-one' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('API key of OpenAI').fill(openaiKey)
    await expectGoodLooks(page)
    await dialog.getByRole('button', { name: 'Save the key' }).click()
    const hint = `…${openaiKey.slice(-4)}`
    const stored = `The key ${hint} of OpenAI is stored. OpenAI accepts the key and lists`
    await page.getByText(stored).waitFor()
    await card.getByRole('button', { name: `Test the key ${hint}` }).click()
    await card.getByText(/^OpenAI accepts the key and lists \d+ models\.$/).waitFor()
    expect(await page.content()).not.to.include(openaiKey)
    await card.getByRole('button', { name: `Remove the key ${hint}` }).click()
    await dialog.getByRole('button', { name: 'Remove the key' }).click()
    await card.waitFor({ state: 'detached' })
    await page.getByText(`The key ${hint} of OpenAI is removed.`).waitFor()
  })

  it('stores own endpoints, and shows each fault with its line', async () => {
    const page = await dashboard.open('/providers')
    const settings = page.getByLabel('Settings as YAML')
    await settings.fill('aliases:\n  house: []\n')
    await page.getByRole('button', { name: 'Save the settings' }).click()
    await page.getByText('stored settings, line 2: aliases.house').waitFor()
    await expectGoodLooks(page)
    const content =
      "providers:\n  - {id: mine, kind: openai-compatible, base_url: 'https://models.example/v1', models: '*'}\n"
    await settings.fill(content)
    await page.getByRole('button', { name: 'Save the settings' }).click()
    await page.getByText('The settings are stored, and calls use them.').waitFor()
    const card = page.getByRole('region', { name: 'mine' })
    await card.getByText('https://models.example/v1').waitFor()
    await page.reload()
    await eventually(async () => expect(await settings.inputValue()).to.equal(content))
    await expectGoodLooks(page)
    await settings.fill('')
    await page.getByRole('button', { name: 'Save the settings' }).click()
    await card.waitFor({ state: 'detached' })
  })

  it('shows an error when the changed settings are invalid, also to a person who is faster than the session', async () => {
    const page = await dashboard.open('/providers')
    const reload = page.getByRole('button', { name: 'Reload the settings' })
    await reload.waitFor()
    const held = Promise.withResolvers<void>()
    await page.route('**/api/sessions/current', async (route) => {
      await held.promise
      await route.continue()
    })
    await page.reload()
    dashboard.gateway.rewrite({ port: 'none' })
    await reload.click()
    held.resolve()
    await page.getByRole('alert').getByText(/PORT/i).waitFor()
  })

  it('is for operators only, and says so to other people', async () => {
    const accountId = await dashboard.gateway.createAccount()
    const page = await dashboard.open('/providers', {
      as: await dashboard.gateway.people.signIn({ accountId }),
    })
    await page.getByRole('heading', { name: 'This page is for operators of the gateway' }).waitFor()
    const navigation = page.getByRole('navigation', { name: 'Pages' })
    expect(await navigation.getByRole('link').allInnerTexts()).not.to.include('Providers')
    await expectGoodLooks(page)
  })
})
