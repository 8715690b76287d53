import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import type { TestGateway } from '../support/gateway.ts'
import { flatPng } from '../support/pixel.ts'

type Schemas = components['schemas']
export type Quote = Schemas['PriceQuote']
export type Priced = Quote['operation']
export const paths: Record<Priced, string> = {
  createImage: '/v1/images/generations',
  createImageEdit: '/v1/images/edits',
  createChatCompletion: '/v1/chat/completions',
  createResponse: '/v1/responses',
  createMessage: '/v1/messages',
  createEmbedding: '/v1/embeddings',
}
const prompt = 'A lighthouse'

/** Asks a gateway for quotes, and compares them with the costs of calls. */
export function quotesOf(running: () => TestGateway) {
  const ask = (operation: Priced, request: object, key?: string) =>
    running().post('/v1/prices', { operation, request }, key === undefined ? {} : { key })
  const quoteOf = async (operation: Priced, request: object, key?: string) => {
    const response = await ask(operation, request, key)
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    return JSON.parse(text) as Quote
  }
  /** Makes the call and compares its cost with the quote. */
  const expectCharged = async (operation: Priced, request: object) => {
    const quote = (await quoteOf(operation, request)).routes[0]!
    const headers = { 'cache-control': 'no-store' }
    const response = await running().post(paths[operation], request, { headers })
    expect(response.status, await response.clone().text()).to.equal(200)
    await response.arrayBuffer()
    const path = `/api/requests/${response.headers.get('x-request-id')}`
    const row = await running().fetch(path, { key: running().adminKey })
    const { cost } = (await row.json()) as { cost: Schemas['RequestCost'] }
    const what = `${JSON.stringify(request).slice(0, 200)}: ${JSON.stringify({ quote, cost })}`
    if (quote.kind === 'exact') {
      expect(cost.status, what).to.equal('exact')
      expect(quote.amount, what).to.deep.equal(cost.amount)
      expect(quote.lines, what).to.deep.equal(cost.lines)
      expect(quote.exact_usd, what).to.equal(cost.exact_usd)
    } else if (quote.kind === 'at_most') {
      expect(cost.amount, what).to.not.equal(null)
      expect(quote.amount!.nano_usd, what).to.be.at.least(cost.amount!.nano_usd)
    } else expect(cost.amount, what).to.equal(null)
    return quote.kind
  }
  return { ask, quoteOf, expectCharged }
}

/** Calls each image model, and returns how many quotes there were of each kind. */
export async function expectImagesCharged(
  gateway: TestGateway,
  models: readonly Schemas['Model'][],
): Promise<Record<string, number>> {
  const { expectCharged } = quotesOf(() => gateway)
  const kinds: Record<string, number> = {}
  for (const { id, capabilities, image } of models) {
    if (!capabilities!['image_generation'] || (image?.reference_images_min ?? 0) > 0) continue
    const size = '1024x1024'
    const qualities = (image?.qualities ?? []).map((quality) => ({ size, quality }))
    const requests = [{}, { size, n: 2 }, { size: '1280x768' }, ...qualities]
    const calls = requests.map((one) => expectCharged('createImage', { model: id, prompt, ...one }))
    for (const kind of await Promise.all(calls)) kinds[kind] = (kinds[kind] ?? 0) + 1
  }
  return kinds
}

/** Calls each model that edits, with two input pictures where it takes them. */
export async function expectEditsCharged(
  gateway: TestGateway,
  models: readonly Schemas['Model'][],
): Promise<void> {
  const { expectCharged } = quotesOf(() => gateway)
  for (const { id, image } of models.filter(({ capabilities }) => capabilities!['image_edit'])) {
    const count = Math.min(2, image?.reference_images_max ?? 1)
    const images = Array.from({ length: count }, () => ({ image_url: flatPng(256) }))
    const size = image?.size.kind === 'none' ? {} : { size: '1024x1024' }
    await expectCharged('createImageEdit', { model: id, prompt, images, n: 2, ...size })
  }
}
