import { expect } from 'chai'
import type { Locator, Page, Response } from 'playwright-core'
import type { Role } from '../../src/core/caller.ts'
import { expectCount, expectGoodLooks, useDashboard } from '../support/dashboard.ts'
import { suiteClock } from '../support/gateway.ts'
import { gatedPieces } from '../support/image-events.ts'
import type { ImageDouble } from '../support/image-doubles/double.ts'
import { eventText, openaiKey, startOpenaiDouble } from '../support/image-doubles/openai.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { eventually, until } from '../support/until.ts'

const plus = 'alibaba/qwen-image-plus'
const flare = 'gpt-image-1-mini'

const column = (page: Page, model: string) => page.getByRole('region', { name: model })
const tiles = (page: Page) => page.getByRole('list', { name: 'Jobs' }).locator(':scope > li')
const button = (where: Page | Locator, name: string) => where.getByRole('button', { name })

describe('pictures that are made as jobs', () => {
  const dashboard = useDashboard()
  const playground = (query: string, as?: { token: string }) =>
    dashboard.open(`/playground?mode=test&${query}`, as && { as })
  /** A further person of the owner's account. */
  const signIn = async (role: Role) => {
    const { gateway } = dashboard
    const accounts = gateway.db.selectFrom('accounts').select('id').where('is_operator', '=', 1)
    const { id: accountId } = await accounts.executeTakeFirstOrThrow()
    return gateway.people.signIn({ accountId, role })
  }

  /** Creates a job with the test key of the gateway, and waits for its end. */
  const newJob = async (body: object): Promise<string> => {
    const headers = { prefer: 'respond-async, wait=60' }
    const answer = await dashboard.gateway.post('/v1/images/generations', body, { headers })
    expect(answer.status, await answer.clone().text()).to.equal(200)
    return answer.headers.get('location')!.split('/').at(-1)!
  }
  /** Presses a button, confirms the question, and waits for the sentence about the result. */
  const confirmed = async (page: Page, opens: Locator, act: string, said: string) => {
    await opens.click()
    await page.getByRole('dialog').getByRole('button', { name: act, exact: true }).click()
    await page.getByText(said).waitFor()
  }

  it('are shown after a reload of the playground, and are bought once', async () => {
    const before = (await dashboard.gateway.usage()).length
    const page = await playground(`image_model=${plus}`, await signIn('member'))
    await page.getByLabel('Prompt').fill('A boat sandbox:delay=2000')
    const begun = page.waitForResponse((one) => one.status() === 202)
    await button(page, 'Create the picture for').click()
    await begun
    await column(page, plus).getByText('Creating…').waitFor()
    await expectKeptJobs(page)
    await page.reload()
    await button(column(page, plus), 'Edit this').waitFor()
    await column(page, plus).getByText('$0.03', { exact: true }).waitFor()
    expect(await page.getByLabel('Prompt').inputValue()).to.contain('A boat')
    expect((await dashboard.gateway.usage()).length).to.equal(before + 1)
    // The session storage must not show the prompts of a person to the next one.
    await button(page, 'Sign out').click()
    await button(page, 'Sign in').waitFor()
    expect(await page.evaluate('sessionStorage.getItem("gateway_playground_jobs")')).to.equal(null)
  })

  it('are cancelled in the playground', async () => {
    const page = await playground(`image_model=${plus}`)
    await page.getByLabel('Prompt').fill('A lake sandbox:delay=60000')
    const begun = page.waitForResponse((one) => one.status() === 202)
    await button(page, 'Create the picture for').click()
    await begun
    await expectKeptJobs(page)
    await button(column(page, plus), 'Cancel').click()
    await column(page, plus).getByText('Cancelled. The provider may charge').waitFor()
    await expectGoodLooks(page)
  })

  it('are listed with model, key and price, and can be downloaded, edited, repeated and deleted', async () => {
    const size = '1536x1024'
    await newJob({ model: flare, prompt: 'A lighthouse at night', size })
    const page = await dashboard.open('/overview')
    await page.getByRole('link', { name: 'Pictures', exact: true }).click()
    await page.getByRole('heading', { name: 'No pictures yet' }).waitFor()
    await expectGoodLooks(page)
    await button(page, 'Sandbox').click()
    const tile = tiles(page).first()
    await loaded(tile.getByRole('img'))
    const text = await tile.innerText()
    expect(text)
      .to.contain(flare)
      .and.contain('completed')
      .and.match(/\$0\.0\d/)
    expect(text).to.not.contain('lighthouse')
    await expectGoodLooks(page)

    const download = page.waitForEvent('download')
    await tile.getByRole('link', { name: 'Download' }).click()
    expect((await download).suggestedFilename()).to.match(/^file_[0-9a-f]{32}\.png$/)

    await tile.getByRole('link', { name: 'Use as input' }).click()
    await button(page, 'Remove created here').waitFor()
    await button(page, 'Edit the picture').waitFor()
    await page.goBack()

    await tile.getByRole('link', { name: 'Again with another model' }).click()
    const search = page.getByRole('combobox', { name: 'Models' })
    await search.fill(plus)
    await search.press('Enter')
    await button(page, `Model: ${plus}`).waitFor()
    await page.goBack()

    const count = await countOf(page)
    const said = 'The job and its pictures are deleted.'
    await confirmed(page, button(tile, 'Delete…'), 'Delete', said)
    await until('the job is gone', async () => (await tiles(page).count()) === count - 1)
  })

  it('show the prompt if the account keeps prompts, and repeat it with another model', async () => {
    const settings = await dashboard.open('/settings')
    await settings.getByText('Jobs keep no prompts.').waitFor()
    await button(settings, 'Keep prompts').click()
    await settings.getByText('New jobs keep their prompts.').waitFor()
    await expectGoodLooks(settings)
    const size = '1536x1024'
    await newJob({ model: flare, prompt: 'A whale and a ship', size, n: 2, partial_images: 3 })
    const page = await dashboard.open('/pictures?mode=test', { as: await signIn('member') })
    const tile = tiles(page).filter({ hasText: 'A whale and a ship' })
    await loaded(tile.getByRole('img').first())
    await loaded(tile.getByRole('img').nth(1))
    await tile.getByRole('link', { name: 'Again with another model' }).click()
    await page.getByRole('combobox', { name: 'Models' }).press('Escape')
    await button(page, `Model: ${flare}`).waitFor()
    expect(await page.getByLabel('Prompt').inputValue()).to.equal('A whale and a ship')
    expect(await page.getByLabel('Size').inputValue()).to.equal(size)
    expect(await page.getByLabel('Number of pictures').inputValue()).to.equal('2')
    expect(await page.getByLabel('Previews').inputValue()).to.equal('3')
    await button(settings, 'Stop keeping prompts').click()
    await settings.getByText('New jobs keep no prompt.').waitFor()
  })

  it('of another person can be seen, cancelled and filtered by status; failed ones say why', async () => {
    await newJob({ model: flare, prompt: 'sandbox:content-policy' }).catch(() => undefined)
    const other = await playground(`image_model=${plus}`, await signIn('member'))
    await other.getByLabel('Prompt').fill('A castle sandbox:delay=60000')
    const begun = other.waitForResponse((one) => one.status() === 202)
    await button(other, 'Create the picture for').click()
    await begun
    const page = await dashboard.open('/pictures?mode=test&status=in_progress')
    const tile = tiles(page).filter({ hasText: 'in progress' })
    await tile.getByText('Playground of').waitFor()
    await expectGoodLooks(page)
    await confirmed(page, button(tile, 'Cancel…'), 'Cancel the job', 'The job is cancelled.')
    await page.getByRole('heading', { name: 'No job has this status' }).waitFor()
    await page.getByLabel('Status').selectOption('cancelled')
    await tiles(page).filter({ hasText: 'cancelled' }).first().waitFor()
    await column(other, plus).getByText('Cancelled. The provider may charge').waitFor()
    await page.getByLabel('Status').selectOption('failed')
    await tiles(page).first().getByText('The sandbox refuses this prompt as unsafe.').waitFor()
  })

  it('are shown a page at a time, however many there are', async () => {
    const { gateway } = dashboard
    await gateway.db.deleteFrom('image_jobs').execute()
    const key = await gateway.db.selectFrom('api_keys').selectAll().executeTakeFirstOrThrow()
    const now = suiteClock()
    const rows = Array.from({ length: jobs }, (_, index) => ({
      id: idAt(index),
      account_id: key.account_id,
      key_id: key.id,
      mode: 'test' as const,
      operation: 'generation' as const,
      model: `model-${index}`,
      status: 'cancelled' as const,
      created_at: now - (jobs - index) * 1000,
      completed_at: now,
      expires_at: now + 86_400_000,
      owner: null,
      takeovers: 0,
      tasks: '[]',
      encryption_key_id: 'none',
      ciphertext: new Uint8Array(1),
    }))
    const inserting = gateway.db.insertInto('image_jobs')
    for (let at = 0; at < jobs; at += 500)
      await inserting.values(rows.slice(at, at + 500)).execute()
    const page = await dashboard.open('/pictures?mode=test')
    for (let turned = 0; turned < turns; turned++) {
      await page.getByText(`model-${jobs - 1 - turned * pageJobs}`, { exact: true }).waitFor()
      expect(await tiles(page).count()).to.equal(pageJobs)
      await button(page, 'Older').press('Enter')
    }
    await button(page, 'Newer').click()
    const last = jobs - 1 - (turns - 1) * pageJobs
    await page.getByText(`model-${last}`, { exact: true }).waitFor()
    await expectGoodLooks(page)
  })
})

const jobs = 10_000
const pageJobs = 24
const turns = 10
const idAt = (index: number) => `imgjob_${index.toString(16).padStart(32, '0')}`

/** Resolves when a picture has been loaded and decoded. */
async function loaded(picture: Locator): Promise<void> {
  await picture.waitFor()
  await until('the picture is loaded', () =>
    picture.evaluate((one) => (one as unknown as { naturalWidth: number }).naturalWidth > 0),
  )
}

/** The number of tiles, once the list has been loaded. */
async function countOf(page: Page): Promise<number> {
  await tiles(page).first().waitFor()
  return tiles(page).count()
}

describe('previews of pictures that are made as jobs', () => {
  let openai: ImageDouble
  const variables: Record<string, string> = { OPENAI_API_KEY: openaiKey }
  before(async () => {
    openai = await startOpenaiDouble()
    variables['OPENAI_BASE_URL'] = openai.url
  })
  const dashboard = useDashboard({ variables })
  after(() => openai.stop())

  it('are shown live, also after a reload, at the price that was shown', async () => {
    const painted = [1, 2, 3].map((number) =>
      paint({ width: 96, height: 64, format: 'png', number }),
    )
    const [one, two, last] = (await Promise.all(painted)).map((one) => one.toString('base64'))
    const usage = { input_tokens: 20, output_tokens: 1200, total_tokens: 1220 }
    const { pieces, go } = gatedPieces([
      eventText('image_generation.partial_image', { b64_json: one, partial_image_index: 0 }),
      eventText('image_generation.partial_image', { b64_json: two, partial_image_index: 1 }),
      eventText('image_generation.completed', { b64_json: last, usage }),
    ])
    openai.play({ pieces })
    const page = await dashboard.open(`/playground?image_model=${flare}`)
    await page.getByLabel('Prompt').fill('A windmill')
    const isPrice = (one: Response) => one.request().postData()?.includes('partial_images') === true
    const priced = page.waitForResponse(isPrice)
    await page.getByLabel('Previews').selectOption('2')
    await priced
    const create = button(page, 'Create the picture for')
    const most = await eventually(async () =>
      Number(/at most \$([\d.]+)/.exec(await create.innerText())![1]),
    )
    const begun = page.waitForResponse((one) => one.status() === 202)
    await create.click()
    const asked = (await begun).request().postDataJSON() as object
    expect(asked).to.include({ partial_images: 2 }).and.not.have.property('stream')
    await expectKeptJobs(page)
    const preview = column(page, flare).getByRole('img', { name: 'Preview of picture 1' })
    const expectPreview = (base64: string | undefined) =>
      eventually(async () =>
        expect(await preview.getAttribute('src')).to.equal(`data:image/png;base64,${base64}`),
      )
    go()
    await expectPreview(one)
    await page.reload()
    await expectPreview(one)
    await loaded(preview)
    await expectGoodLooks(page)
    go()
    await expectPreview(two)
    go()
    await button(column(page, flare), 'Edit this').waitFor()
    await expectCount(preview, 0)
    const [row, ...others] = await dashboard.gateway.usage()
    expect(others).to.have.length(0)
    expect(Number(row!.cost_nano_usd) / 1e9).to.be.within(0.001, most)
    expect(openai.calls).to.have.length(1)
  })
})

describe('the page Pictures of a gateway that makes no jobs', () => {
  const dashboard = useDashboard({ file: { limits: { picture_days: 0 } } })

  it('says why, and the playground streams the picture', async () => {
    const page = await dashboard.open('/pictures?mode=test')
    await page.getByText(/picture_days/i).waitFor()
    await page.getByRole('heading', { name: 'No pictures yet' }).waitFor()
    await expectGoodLooks(page)
    await page.goto(`${dashboard.gateway.url}/dashboard/playground?mode=test&image_model=${plus}`)
    await page.getByLabel('Prompt').fill('A boat')
    await button(page, 'Create the picture for').click()
    await button(column(page, plus), 'Edit this').waitFor()
    await column(page, plus).getByText('$0.03', { exact: true }).waitFor()
  })
})

/** Waits until the page has stored the jobs that it shows again after a reload. */
async function expectKeptJobs(page: Page): Promise<void> {
  await eventually(async () =>
    expect(await page.evaluate('sessionStorage.getItem("gateway_playground_jobs")')).to.contain(
      'imgjob',
    ),
  )
}
