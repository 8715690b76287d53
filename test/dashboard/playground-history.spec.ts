import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { copyBy, expectCount, expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { eventually } from '../support/until.ts'

const plus = 'alibaba/qwen-image-plus'
const flare = 'gpt-image-1-mini'
const database = 'gateway_playground_history'

describe('the history and the links of the playground', () => {
  const dashboard = useDashboard()
  const opened = (query: string, as?: { token: string }) =>
    dashboard.open(`/playground?mode=test&${query}`, as && { as })
  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
  const draw = async (page: Page, prompt: string) => {
    await page.getByLabel('Prompt').fill(prompt)
    await button(page, /^(Create|Edit) the picture for/).click()
    await page.getByText('About this request').waitFor()
  }
  const openHistory = async (page: Page) => {
    await page.getByRole('button', { name: 'History', exact: true }).click()
    return page.getByRole('dialog', { name: 'History' })
  }
  const databases = async (page: Page) =>
    page.evaluate<string[]>('indexedDB.databases().then((all) => all.map(({ name }) => name))')
  const member = async () => {
    const accounts = dashboard.gateway.db.selectFrom('accounts').select('id')
    const { id: accountId } = await accounts.where('is_operator', '=', 1).executeTakeFirstOrThrow()
    return dashboard.gateway.people.signIn({ accountId, role: 'member' })
  }

  it('keeps nothing until the person asks for it', async () => {
    const page = await opened(`image_model=${plus}`)
    await draw(page, 'A boat')
    expect(await databases(page)).to.deep.equal([])
    const dialog = await openHistory(page)
    await button(page, 'Keep a history in this browser').waitFor()
    await expectGoodLooks(page)
    await dialog.getByRole('button', { name: 'Close' }).click()
  })

  it('opens earlier pictures and conversations, and is deleted by one button', async () => {
    const page = await opened(`image_model=${flare}`, await member())
    await openHistory(page)
    await button(page, 'Keep a history in this browser').click()
    await page.getByText('Nothing yet.').waitFor()
    await page.locator('dialog button:focus').waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel('Quality').selectOption('high')
    await draw(page, 'A lighthouse at noon')
    await button(page, 'Chat').click()
    await page.getByLabel('System prompt').fill('Be brief.')
    await page.getByLabel('Message').fill('What is a fox?')
    await button(page, /^Send/).click()
    await page.getByText('tokens in').waitFor()
    await eventually(async () => expect(await page.evaluate(count)).to.equal(2))
    await page.reload()

    await openHistory(page)
    const entries = page.getByRole('list', { name: 'Entries' }).getByRole('listitem')
    await expectCount(entries, 2)
    await expectGoodLooks(page)
    await entries.filter({ hasText: 'What is a fox?' }).getByRole('button').press('Enter')
    await page
      .getByRole('region', { name: /^Answer 1 of / })
      .getByText('tokens in')
      .waitFor()
    expect(await page.getByLabel('System prompt').inputValue()).to.equal('Be brief.')
    await page.getByLabel('Message').fill('And a wolf?')
    await button(page, /^Send/).click()
    await page
      .getByRole('region', { name: /^Answer 2 of / })
      .getByText('tokens in')
      .waitFor()

    await openHistory(page)
    await expectCount(entries, 2)
    await entries.filter({ hasText: 'A lighthouse at noon' }).getByRole('button').click()
    await page.getByRole('region', { name: flare }).getByRole('img').waitFor()
    expect(await page.getByLabel('Prompt').inputValue()).to.equal('A lighthouse at noon')
    expect(await page.getByLabel('Quality').inputValue()).to.equal('high')

    await openHistory(page)
    await button(page, 'Delete the history and switch it off').click()
    await button(page, 'Keep a history in this browser').waitFor()
    await eventually(async () => expect(await databases(page)).to.deep.equal([]))
  })

  it('is bounded, of one person, and gone after the sign-out', async () => {
    const page = await opened(`image_model=${plus}`, await member())
    await openHistory(page)
    await button(page, 'Keep a history in this browser').click()
    await page.getByText('Nothing yet.').waitFor()
    await page.evaluate(fill)
    await page.keyboard.press('Escape')
    await draw(page, 'The newest')
    await openHistory(page)
    const entries = page.getByRole('list', { name: 'Entries' }).getByRole('listitem')
    await entries.filter({ hasText: 'The newest' }).waitFor()
    // The others are those of another person.
    expect(await entries.count()).to.equal(1)
    expect(await page.evaluate(count)).to.equal(100)
    await page.keyboard.press('Escape')
    await button(page, 'Sign out').click()
    await button(page, 'Sign in').waitFor()
    await eventually(async () => expect(await databases(page)).to.deep.equal([]))
    expect(await page.evaluate(`localStorage.getItem('${database}')`)).to.equal(null)
  })

  it('opens the same form by a link, which has no key and sends nothing by itself', async () => {
    const page = await opened(`image_model=${flare},${plus}`)
    await page.getByLabel('Prompt').fill('A fox & a "wolf" #1\nin 100% snow')
    await page.getByLabel('Number of pictures').fill('3')
    const link = new URL(await copyBy(page, 'Copy link'))
    expect(link.search).to.match(/image_model=gpt-image-1-mini%2Calibaba/)
    expect(link.search).not.to.contain('fox')
    expect(link.href).not.to.match(/mag_|key|token/)
    const before = (await dashboard.gateway.usage()).length
    const other = await dashboard.open(link.href.slice(link.href.indexOf('/playground')))
    await button(other, /^Create 6 pictures for/).waitFor()
    expect(await other.getByLabel('Prompt').inputValue()).to.equal(
      'A fox & a "wolf" #1\nin 100% snow',
    )
    await button(other, `Model 2: ${plus}`).waitFor()
    // The choice of another model does not empty the form.
    await button(other, `Remove ${plus}`).click()
    await button(other, /^Create 3 pictures for/).waitFor()
    expect((await dashboard.gateway.usage()).length).to.equal(before)
    await page.getByLabel('Prompt').fill('x'.repeat(9000))
    await page.getByText('The form is too long for a link.').waitFor()
  })

  it('opens a link of a chat after the sign-in, and ignores values that no form has', async () => {
    const fragment = 'text=Hello&system=Be+kind&effort=evil&temperature=hot&maxTokens=9&key=mag_x'
    const page = await dashboard.open(
      `/playground?mode=test&tab=chat&chat_model=gpt-5-mini#${fragment}`,
      { as: null },
    )
    const { email, password } = dashboard.owner
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await button(page, 'Sign in').click()
    await page.getByLabel('Message').waitFor()
    expect(await page.getByLabel('Message').inputValue()).to.equal('Hello')
    expect(await page.getByLabel('System prompt').inputValue()).to.equal('Be kind')
    expect(await page.getByLabel('Maximum tokens').inputValue()).to.equal('9')
    const sent = page.waitForRequest((one) => one.url().endsWith('/v1/chat/completions'))
    await button(page, /^Send/).click()
    expect((await sent).postDataJSON()).to.not.have.any.keys(
      'reasoning_effort',
      'temperature',
      'key',
    )
    const pictures = 'prompt=A+boat&n=99&size=1x1&background=evil&previews=99&compression=-1'
    const other = await opened(`image_model=${flare}#${pictures}`)
    await button(other, /^Create 10 pictures for (?!…)/).waitFor()
    expect(await other.getByLabel('Size').inputValue()).to.equal('')
    const long = await opened(`image_model=${flare}#prompt=${'x'.repeat(9000)}`)
    expect(await long.getByLabel('Prompt').inputValue()).to.equal('')
  })

  it('takes a result as input by drag and drop, and by the keyboard', async () => {
    const page = await opened(`image_model=${flare}`)
    await draw(page, 'A harbour')
    const made = page.getByRole('region', { name: flare })
    await made.getByRole('img').dragTo(page.getByText('Drop pictures here'))
    await button(page, 'Remove created here').waitFor()
    await button(page, 'Edit the picture for').waitFor()
    await button(page, 'Remove created here').click()
    await made.getByRole('button', { name: 'Edit this' }).press('Enter')
    await button(page, 'Remove created here').waitFor()
    await page.locator('textarea:focus').waitFor()
    await expectGoodLooks(page)
  })

  it('has one scroll bar, and no button that hides a field', async () => {
    for (const tab of ['pictures', 'chat']) {
      const page = await opened(`tab=${tab}`)
      await page.getByRole('list', { name: 'Prices' }).getByText('free here').first().waitFor()
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 600 })
        expect(await page.evaluate(scrolled), `${tab} at ${width}`).to.deep.equal([])
        expect(await page.evaluate(covered), `${tab} at ${width}`).to.deep.equal([])
      }
    }
  })
})

/** Stores 120 entries of another person. */
const fill = `new Promise((resolve) => {
  const opening = indexedDB.open('${database}', 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore('entries', { keyPath: 'id' })
  opening.onsuccess = () => {
    const transaction = opening.result.transaction('entries', 'readwrite')
    for (let index = 0; index < 120; index++) {
      transaction.objectStore('entries').put({ id: 'old ' + index, atMs: index, bytes: 1000, person: 'x' })
    }
    transaction.oncomplete = () => resolve(opening.result.close())
  }
})`

const count = `new Promise((resolve) => {
  const opening = indexedDB.open('${database}')
  opening.onsuccess = () => {
    const counting = opening.result.transaction('entries').objectStore('entries').count()
    counting.onsuccess = () => {
      opening.result.close()
      resolve(counting.result)
    }
  }
})`

/** Elements of the page that scroll by themselves. */
const scrolled = `[...document.querySelectorAll('main *')]
  .filter((one) => /auto|scroll/.test(getComputedStyle(one).overflowY) && one.scrollHeight > one.clientHeight + 1)
  .filter((one) => one.tagName !== 'TEXTAREA').map((one) => one.outerHTML.slice(0, 80))`

/** Fields and buttons that another element covers when they have the focus. */
const covered = `[...document.querySelectorAll('main :is(input:not(.hidden), select, textarea, button)')]
  .filter((one) => one.checkVisibility())
  .filter((one) => {
    one.scrollIntoView({ block: 'nearest' })
    const { left, top, width, height } = one.getBoundingClientRect()
    const at = document.elementFromPoint(left + width / 2, top + height / 2)
    return !(one === at || one.contains(at))
  }).map((one) => one.outerHTML.slice(0, 80))`
