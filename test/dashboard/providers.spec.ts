import { expect } from 'chai'
import { expectGoodLooks, useDashboard } from '../support/dashboard.ts'

const mistralKey = 'abcdefghijklmnopqrstuvwxyz123456'

describe('the page of providers', () => {
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
  const dashboard = useDashboard({ file, sleep: async () => undefined })

  it('shows how a provider fails, and that it is left alone', async () => {
    const { gateway } = dashboard
    const body = { model: 'small-one', messages: [{ role: 'user', content: 'Hello' }] }
    for (let calls = 0; calls < 5; calls++) {
      await gateway.post('/v1/chat/completions', body, { key: gateway.liveKey })
    }
    const page = await dashboard.open('/providers')
    const own = page.getByRole('region', { name: 'own' })
    await own.waitFor()
    const text = await own.innerText()
    expect(text).to.include('100% failed').and.to.include('http://127.0.0.1:9/v1')
    expect(text).to.match(/Last failure\s.*could not be reached, small-one/)
    expect(text).to.match(/small-one\s+left alone, tried again in/)
    await expectGoodLooks(page)
  })

  it('teaches how a vendor is configured, and takes the settings over', async () => {
    const page = await dashboard.open('/providers')
    await page.getByText(/^Mistral \d+ models/).click()
    await page.getByText('MISTRAL_API_KEY=your-key').waitFor()
    dashboard.gateway.rewrite(file, { MISTRAL_API_KEY: mistralKey })
    await page.getByRole('button', { name: 'Read the settings again' }).click()
    await page.getByText('Changed: MISTRAL_API_KEY').waitFor()
    await page.getByRole('region', { name: 'Mistral' }).waitFor()
    expect(await page.content()).not.to.include(mistralKey)
    await expectGoodLooks(page)
  })

  it('says what is wrong with settings that are not taken over', async () => {
    const page = await dashboard.open('/providers')
    dashboard.gateway.rewrite({ port: 'none' })
    await page.getByRole('button', { name: 'Read the settings again' }).click()
    expect(await page.getByRole('alert').innerText()).to.match(/PORT/i)
  })

  it('is for those who run the gateway, and says so to others', async () => {
    const accountId = await dashboard.gateway.createAccount()
    const page = await dashboard.open('/providers', {
      as: await dashboard.gateway.people.signIn({ accountId }),
    })
    await page
      .getByRole('heading', { name: 'This page is for those who run the gateway' })
      .waitFor()
    const navigation = page.getByRole('navigation', { name: 'Pages' })
    expect(await navigation.getByRole('link').allInnerTexts()).not.to.include('Providers')
    await expectGoodLooks(page)
  })
})
