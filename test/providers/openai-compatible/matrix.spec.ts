import { expect } from 'chai'
import { readCatalogRows } from '../../../src/catalog/catalog.ts'
import type { ChatRequest } from '../../../src/core/chat/chat.ts'
import { orderToolResults } from '../../../src/core/chat/order-tool-results.ts'
import { placeResultMedia } from '../../../src/core/chat/media.ts'
import { chatCases } from '../../support/chat-cases.ts'
import { checkSent, closedChats } from '../../support/closed-chat/vendors.ts'
import { routeOf, selectStrictly } from '../../support/route.ts'
import { Refused } from '../../support/spoken.ts'
import { lostFields, prepareChat, type PreparedChat } from '../../support/prepared-chat.ts'

/** Models that the catalog does not describe; cases with media do not apply to them. */
const others = [
  'moonshot/kimi-k3-turbo',
  'openrouter/any',
  'together/any',
  'azure/gpt-5.6-terra',
  'perplexity/any',
  'fireworks/any',
  'deepinfra/any',
  'nvidia/any',
  'cloudflare/any',
  'bedrock/any',
]
const media = new Set(['audio', 'file'])
const models = readCatalogRows()
  .filter(({ provider, status, capabilities }) => {
    return provider in closedChats && capabilities.chat && status !== 'deactivated'
  })
  .map(({ id, provider }) => ({ id, provider }))
const described = new Set(models.map(({ id }) => id))
const all = [...models, ...others.map((id) => ({ id, provider: id.split('/')[0]! }))]

/** The vendor's error for a sent request; undefined if the vendor accepts the request. */
function complaintOf(provider: string, { sent }: PreparedChat): string | undefined {
  try {
    checkSent(provider, sent)
    return undefined
  } catch (error) {
    if (error instanceof Refused) return error.message
    throw error
  }
}

/** The error of strict mode, which names the parameters that the warnings are about. */
function strictly({ warnings }: PreparedChat): string {
  try {
    selectStrictly(warnings)
    return ''
  } catch (error) {
    return String(error)
  }
}

function isSettled({ messages }: PreparedChat['asked']): boolean {
  // The cast is safe, because every case is a conversation.
  const asked = messages as ChatRequest['messages']
  return (
    orderToolResults(asked) !== undefined || placeResultMedia(asked, routeOf('own')) !== undefined
  )
}

describe('the chat requests of OpenAI’s clients', () => {
  for (const { id, provider } of all) {
    it(`are accepted by ${id}, or refused with the parameter, with a warning for each loss`, () => {
      const wrong = chatCases.flatMap(({ name, request, needs = [] }) => {
        if (others.includes(id) && needs.some((need) => media.has(need))) return []
        const translated = prepareChat(id, request)
        if (translated.problems.length > 0) {
          const unnamed = translated.problems.some(({ param }) => param === '')
          const isRight = needs.length > 0 && !unnamed
          return isRight ? [] : [`${name}: refused, ${translated.problems[0]!.message}`]
        }
        const strictError = strictly(translated)
        const unnamed = translated.warnings.filter(
          ({ param }) => !strictError.includes(`'${param}'`),
        )
        return [
          ...[complaintOf(provider, translated) ?? []].flat().map((words) => `${name}: ${words}`),
          ...lostFields(translated).map((path) => `${name}: ${path} is lost`),
          ...unnamed.map(({ param }) => `${name}: ${param} passes strictly`),
        ]
      })
      expect(wrong.join('\n')).to.equal('')
    })
  }

  for (const id of ['own/any']) {
    it(`reach ${id} unchanged`, () => {
      for (const { name, request } of chatCases) {
        const { asked, sent, warnings, problems } = prepareChat(id, request)
        // Skips cases whose tool results, or pictures in them, the gateway moves for every such vendor.
        if (isSettled(asked)) continue
        expect([warnings, problems], name).to.deep.equal([[], []])
        const { stream_options: _asked, model: _model, ...rest } = asked
        const { stream_options: _sent, model: _upstream, ...body } = sent
        expect(body, name).to.deep.equal(JSON.parse(JSON.stringify(rest)))
      }
    })
  }

  it('are tested with every vendor', () => {
    expect([...new Set(all.map(({ provider }) => provider))]).to.have.members(
      Object.keys(closedChats),
    )
    expect(others.filter((id) => described.has(id))).to.deep.equal([])
  })
})
