import { expect } from 'chai'
import { expectCount, expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { startMailbox, type Mailbox } from '../support/mailbox.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'

describe('the webhooks page', () => {
  let host: PublicHost
  let mailbox: Mailbox
  const variables = { SMTP_URL: '', MAIL_FROM: 'gateway@gateway.example' }
  const options = { publicNet: {}, bounds: { webhookLookMs: 20 }, variables }
  before(async () => {
    host = await startPublicHost()
    mailbox = await startMailbox()
    variables.SMTP_URL = mailbox.url
    // The gateway starts after it.
    Object.assign(options.publicNet, host.net)
  })
  after(async () => {
    await host.stop()
    await mailbox.stop()
  })
  const dashboard = useDashboard(options)

  it('explains alerts and webhooks while there is none, and refuses an address inside', async () => {
    const page = await dashboard.open('/webhooks')
    await page.getByRole('heading', { name: 'No alerts or webhooks yet' }).waitFor()
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Add a receiver' }).click()
    await page.getByLabel('Name').fill('inside')
    await page.getByLabel('Address').fill(`https://10.0.0.1:${host.port}/hook`)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('The address is not public.').first().waitFor()
    await expectGoodLooks(page)
  })

  it('creates one, shows its secret once, and tests, redelivers, rotates and deletes it', async () => {
    const statuses = [500, 200, 200]
    host.serve('/hook', (response) => response.writeHead(statuses.shift() ?? 200).end())
    const page = await dashboard.open('/webhooks')
    await page.getByRole('button', { name: 'Add a receiver' }).click()
    await page.getByLabel('Send to').selectOption('webhook')
    await page.getByLabel('Name').fill('shop server')
    await page.getByLabel('Address').fill(host.address('/hook'))
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('It is shown only once.').waitFor()
    const secret = await page.getByRole('region', { name: 'the secret' }).textContent()
    expect(secret).to.match(/^whsec_/)
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'About this webhook' }).click()
    await page.getByText('No deliveries in the last 30 days.').waitFor()
    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByText('The receiver answered 500.').waitFor()
    await page.getByRole('row', { name: /webhook\.test .* failed/ }).waitFor()
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByRole('row', { name: /webhook\.test .* delivered/ }).waitFor()
    const [before, telephone] = [page.viewportSize()!, { width: 390, height: 800 }]
    await page.setViewportSize(telephone)
    const { x, width } = (await page.getByText('delivered', { exact: true }).boundingBox())!
    expect(x + width).to.be.below(telephone.width)
    await page.setViewportSize(before)
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('The webhook is disabled.').waitFor()
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.getByText('The webhook is enabled.').waitFor()
    await page.getByRole('button', { name: 'Rotate the secret…' }).click()
    await page.getByRole('button', { name: 'Rotate', exact: true }).click()
    await page.getByText('For 24 hours each request').waitFor()
    const next = await page.getByRole('region', { name: 'the secret' }).textContent()
    expect(next)
      .to.match(/^whsec_/)
      .and.not.equal(secret)
    await page.getByRole('button', { name: 'About this webhook' }).click()
    await page.getByText('also signs until').waitFor()
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('heading', { name: 'No alerts or webhooks yet' }).waitFor()
  })

  it('sends alerts to a mailbox, chosen by their meaning, and changes which', async () => {
    const page = await dashboard.open('/webhooks')
    await page.getByRole('button', { name: 'Add a receiver' }).click()
    await page.getByLabel('Send to').selectOption('email')
    await page.getByLabel('Mail address').fill('finance@team.example')
    await page.getByLabel('Name').fill('finance')
    await page.getByLabel('a provider fails').uncheck()
    await expectGoodLooks(page)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByRole('row', { name: /webhook\.test .* delivered/ }).waitFor()
    expect(mailbox.mails[0]?.source).to.include('Subject: Test alert')
    await page.getByRole('button', { name: 'Change…' }).click()
    expect(await page.getByLabel('a provider fails').isChecked()).to.equal(false)
    await page.getByLabel('a budget refuses calls').uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The change is saved.').waitFor()
    await expectCount(page.getByText('a budget refuses calls'), 0)
    await expectGoodLooks(page)
    await page.getByRole('link', { name: 'Alerts and webhooks' }).last().click()
    await page.getByRole('cell', { name: 'finance@team.example E-mail' }).waitFor()
    await expectGoodLooks(page)
  })
})
