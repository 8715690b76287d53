import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { usageRow } from '../support/usage-row.ts'

const head = 'start_time,amount_value,amount_currency,line_item\n'

describe('the page that reconciles invoices', () => {
  const dashboard = useDashboard()
  let folder: TemporaryFolder
  let file: string
  before(() => {
    folder = makeFolder()
    file = join(folder.path, 'costs.csv')
  })
  after(() => folder.remove())

  it('is found by a search, and shows what differs in a doctored export, by how much and since when', async () => {
    const { db } = dashboard.gateway
    const { id } = await db.selectFrom('accounts').select('id').executeTakeFirstOrThrow()
    const rows = [1, 2, 3].map((day) => ({
      ...usageRow(`req_${day}`, Date.parse(`2026-10-0${day}T12:00:00Z`)),
      account_id: id,
      mode: 'live',
      provider: 'openai',
      model: 'gpt-5-nano',
      cost_nano_usd: 500_000_000,
    }))
    await db.insertInto('usage').values(rows).execute()
    const page = await dashboard.open('/providers')
    await page.getByRole('heading', { name: 'Providers', level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search' }).fill('reconcile')
    await page.getByRole('option', { name: 'Reconcile invoices' }).waitFor()
    await page.keyboard.press('Enter')
    const field = page.getByLabel('Cost export')
    const days = (...amounts: string[]) =>
      head + amounts.map((usd, at) => `2026-10-0${at + 1},${usd},usd,=gpt-5-nano\n`).join('')
    writeFileSync(file, days('0.5', '0.75', '0.75').replaceAll('=', ''))
    await field.setInputFiles(file)
    await field.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: '1 of 1 models differ, by $0.50' }).waitFor()
    const row = page.getByRole('row', { name: /^gpt-5-nano/ })
    expect(await row.innerText()).to.match(/2026-10-02\s+\$2\.00\s+\$1\.50\s+\$0\.50/)
    await expectGoodLooks(page)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download CSV' }).click(),
    ])
    expect(download.suggestedFilename()).to.equal('costs-openai-2026-10-01-2026-10-03.csv')
    const lines = readFileSync(await download.path(), 'utf8').split('\r\n')
    expect(lines[2]).to.equal('2026-10-02,"gpt-5-nano",0.75,0.5,0.25,true')
    writeFileSync(file, days('0.5'))
    await field.setInputFiles(file)
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByRole('rowheader', { name: 'openai/=gpt-5-nano' }).waitFor()
  })

  it('shows at the field why a file is refused', async () => {
    const page = await dashboard.open('/reconcile')
    const wrong: [content: string, fault: RegExp][] = [
      ['a,b\n1,2\n', /Line 2, .* none of these columns exists/],
      [`${head}2026-10-01,1,eur,a\n`, /Line 2, column amount_currency: "eur" is not USD/],
      ['a'.repeat(8_388_609), /The file has more than 8 MiB/],
    ]
    for (const [content, fault] of wrong) {
      writeFileSync(file, content)
      await page.getByLabel('Cost export').setInputFiles(file)
      await page.getByRole('button', { name: 'Compare' }).click()
      await page.getByText(fault).waitFor()
    }
    await expectGoodLooks(page)
  })

  it('is for operators', async () => {
    const accountId = await dashboard.gateway.createAccount()
    const as = await dashboard.gateway.people.signIn({ accountId })
    const page = await dashboard.open('/reconcile', { as })
    await page.getByRole('heading', { name: 'This page is for operators of the gateway' }).waitFor()
  })
})
