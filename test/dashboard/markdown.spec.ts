import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { streamed } from '../support/chat-answers.ts'
import { copyBy, expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { ownKey, ownProvider } from '../support/own-endpoint.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { until } from '../support/until.ts'

const outside = 'https://outside.example'

/** Kinds of parts in which models answer. */
const ordinary = `# A title

Some **bold**, *slanted* and ~~struck~~ text with \`code &amp; more\`, 3 &lt; 4 and a [link](${outside}/page?a=1&amp;b=2).

1. one
   - inner
2. two

- [x] done
- [ ] open

> quoted

Roses are red,
violets <smirk> blue.

<plan>
one
two
</plan>

\`\`\`ts
const answer = '<b>42</b>'
\`\`\`

| Fruit | Price |
|-------|------:|
| Pear<br>Plum | 1.20  |
`

/** Everything that could run, load or leave. */
const hostile = `<script>top.hit = 'script'; alert('script')</script>

<img src=x onerror="top.hit = 'onerror'; alert('onerror')"> <iframe src="${outside}/frame"></iframe>

[one](javascript:alert('link')) [two](JaVaScRiPt:alert(2)) [three](data:text/html,<script>alert(3)</script>)
[four](vbscript:x) [five](&#106;avascript:alert(5)) [six](<java
script:alert(6)>) [seven](/dashboard/settings) <javascript:alert(7)>

![a picture](${outside}/track.png) ![](data:image/svg+xml,<svg/onload=alert(1)>)

<a href="javascript:alert('a')">raw</a> <style>body { display: none }</style> <svg onload="alert('svg')">

[r]: javascript:alert('reference)
[a reference][r] https://user:word@outside.example/ <b onclick=alert(1)>bold</b>
`

describe('Markdown in the playground', () => {
  let upstream: Upstream
  const file: { providers: object[] } = { providers: [] }
  before(async () => {
    upstream = await startUpstream()
    file.providers.push({ ...ownProvider('own', upstream), models: ['house-1'] })
  })
  const dashboard = useDashboard({ file, variables: { OWN_API_KEY: ownKey } })
  after(() => upstream.stop())

  const opened = () => dashboard.open('/playground?tab=chat&chat_model=own/house-1')
  let asked = 0
  const ask = async (page: Page, answer: string) => {
    asked += 1
    // Pieces cut through the marks, as a stream of tokens does.
    const size = Math.max(7, Math.ceil(answer.length / 60))
    const count = Math.ceil(answer.length / size)
    upstream.answer(
      streamed(Array.from({ length: count }, (_, at) => answer.slice(at * size, (at + 1) * size))),
    )
    // A repeated message would be answered from the cache.
    await page.getByLabel('Message').fill(`Hello ${asked}`)
    await page.getByRole('button', { name: /^Send/ }).click()
    await page.getByText('9 tokens in, 4 out').last().waitFor()
  }
  const answerOn = (page: Page) => page.getByRole('region', { name: /^Answer \d+ of / }).last()

  it('shows titles, lists, code and tables, and copies the answer as it is', async () => {
    const page = await opened()
    await ask(page, ordinary)
    const answer = answerOn(page)
    await answer.getByRole('heading', { name: 'A title', level: 3 }).waitFor()
    await answer.locator('strong', { hasText: 'bold' }).waitFor()
    await answer.locator('ol > li ul > li', { hasText: 'inner' }).waitFor()
    await answer.getByText('code &amp; more', { exact: true }).waitFor()
    await answer.getByText('3 < 4', { exact: false }).waitFor()
    await answer.getByText('☑ done').waitFor()
    await answer.getByRole('cell', { name: '1.20' }).waitFor()
    // As chat programs do, lines end where the model ended them, and no tag is lost.
    expect(await answer.getByText('Roses are red').innerText()).to.equal(
      'Roses are red,\nviolets <smirk> blue.',
    )
    expect(await answer.getByText('<plan>').innerText()).to.equal('<plan>\none\ntwo\n</plan>')
    expect(await answer.getByRole('cell', { name: 'Pear' }).innerText()).to.equal('Pear\nPlum')
    await answer.getByText(`const answer = '<b>42</b>'`).waitFor()
    const link = answer.getByRole('link', { name: 'link', exact: true })
    expect(await link.getAttribute('href')).to.equal(`${outside}/page?a=1&b=2`)
    expect(await link.getAttribute('rel')).to.equal('noopener noreferrer nofollow')
    await expectGoodLooks(page)
    expect(await copyBy(page, 'Copy answer')).to.equal(ordinary)
  })

  it('runs nothing, loads nothing and leads to the web only', async () => {
    const page = await opened()
    await ask(page, hostile)
    const answer = answerOn(page)
    await answer.getByRole('link', { name: 'a picture' }).waitFor()
    await answer.getByText(`<script>top.hit = 'script'; alert('script')</script>`).waitFor()
    expect(await page.evaluate('top.hit')).to.equal(undefined)
    const found = answer.locator('script, img, iframe, style, .markdown svg:not(.icon), [onclick]')
    expect(await found.count()).to.equal(0)
    const links = await answer.locator('.markdown a').all()
    const addresses = await Promise.all(links.map((one) => one.getAttribute('href')))
    expect(addresses).to.include(`${outside}/track.png`)
    for (const address of addresses) expect(address).to.match(/^(https:\/\/|mailto:)/)
  })

  it('stays usable with a megabyte of Markdown', async () => {
    const page = await opened()
    await ask(page, ordinary.repeat(Math.ceil(1_000_000 / ordinary.length)))
    await answerOn(page).getByText('Only the first 100,000 characters are shown.').waitFor()
    await answerOn(page).getByRole('heading', { name: 'A title' }).nth(20).waitFor()
    await expectUsable(page)
  })

  for (const [name, text, shown] of [
    ['lists', nested((depth) => `${'  '.repeat(depth)}- item ${depth}`), /item 3/],
    ['quotations', `${'> '.repeat(1000)}deep`, /deep/],
    ['quotations without end', `${'>'.repeat(50_000)}deep`, /deep/],
    ['links', `${'['.repeat(20_000)}deep`, /deep/],
    ['emphasis', `${'**a _b '.repeat(8000)}deep`, /deep/],
    ['words', `${'a_b'.repeat(30_000)} deep`, /deep/],
    ['cells', `${'|a'.repeat(2000)}|\n${'|-'.repeat(2000)}|\n${'|\n'.repeat(40_000)}`, /a/],
  ] as const) {
    it(`stays usable with thousands of nested or open ${name}`, async () => {
      const page = await opened()
      await ask(page, text)
      await answerOn(page).getByText(shown).first().waitFor()
      await expectUsable(page)
    })
  }
})

function nested(line: (depth: number) => string): string {
  return Array.from({ length: 1000 }, (_, depth) => line(depth)).join('\n')
}

/** Expects that the page reacts to the keyboard, and is not blocked. */
async function expectUsable(page: Page): Promise<void> {
  const field = page.getByLabel('Message')
  await field.press('x')
  await until('the field has the letter', async () => (await field.inputValue()) === 'x')
}
