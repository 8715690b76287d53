import { expect } from 'chai'
import { readCatalogRows } from '../../../src/catalog/catalog.ts'
import type { ChatRequest } from '../../../src/core/chat/chat.ts'
import { settledCalls } from '../../../src/core/chat/settled-calls.ts'
import { chatCases } from '../../support/chat-cases.ts'
import { checkClosed } from '../../support/closed-chat/schema.ts'
import { closedChats } from '../../support/closed-chat/vendors.ts'
import { selectStrictly } from '../../support/route.ts'
import { Refused } from '../../support/spoken.ts'
import { lostIn, tell, type Told } from '../../support/told-chat.ts'

/** Models that the catalog does not describe: what they can be shown is theirs to say. */
const others = ['moonshot/kimi-k3-turbo', 'openrouter/any', 'together/any']
const media = new Set(['audio', 'file'])
const models = readCatalogRows()
  .filter(({ provider, status, capabilities }) => {
    return provider in closedChats && capabilities.chat && status !== 'deactivated'
  })
  .map(({ id, provider }) => ({ id, provider }))
const described = new Set(models.map(({ id }) => id))
const all = [...models, ...others.map((id) => ({ id, provider: id.split('/')[0]! }))]

/** What the vendor says to what is sent, if it does not take it. */
function complaintOf(provider: string, { sent }: Told): string | undefined {
  try {
    checkClosed(closedChats[provider]!, sent)
    return undefined
  } catch (error) {
    if (error instanceof Refused) return error.message
    throw error
  }
}

/** What a strict caller is told of each adjustment, by its parameter. */
function strictly({ warnings }: Told): string {
  try {
    selectStrictly(warnings)
    return ''
  } catch (error) {
    return String(error)
  }
}

function isSettled({ messages }: Told['asked']): boolean {
  // Cases are conversations.
  return settledCalls(messages as ChatRequest['messages']) !== undefined
}

describe('the chat requests of OpenAI’s clients', () => {
  for (const { id, provider } of all) {
    it(`are taken by ${id}, or refused by name, and nothing is lost in silence`, () => {
      const wrong = chatCases.flatMap(({ name, request, needs = [] }) => {
        if (others.includes(id) && needs.some((need) => media.has(need))) return []
        const told = tell(id, request)
        if (told.problems.length > 0) {
          const unnamed = told.problems.some(({ param }) => param === '')
          const isRight = needs.length > 0 && !unnamed
          return isRight ? [] : [`${name}: refused, ${told.problems[0]!.message}`]
        }
        const said = strictly(told)
        const untold = told.warnings.filter(({ param }) => !said.includes(`'${param}'`))
        return [
          ...[complaintOf(provider, told) ?? []].flat().map((words) => `${name}: ${words}`),
          ...lostIn(told).map((path) => `${name}: ${path} is lost`),
          ...untold.map(({ param }) => `${name}: ${param} passes strictly`),
        ]
      })
      expect(wrong.join('\n')).to.equal('')
    })
  }

  for (const id of ['own/any']) {
    it(`reach ${id} as they are`, () => {
      for (const { name, request } of chatCases) {
        const { asked, sent, warnings, problems } = tell(id, request)
        // Results are put after their calls for every vendor.
        if (isSettled(asked)) continue
        expect([warnings, problems], name).to.deep.equal([[], []])
        const { stream_options: _asked, model: _model, ...rest } = asked
        const { stream_options: _sent, model: _upstream, ...body } = sent
        expect(body, name).to.deep.equal(JSON.parse(JSON.stringify(rest)))
      }
    })
  }

  it('are put to every kind of model', () => {
    expect(new Set(all.map(({ provider }) => provider))).to.deep.equal(
      new Set(Object.keys(closedChats)),
    )
    expect(others.filter((id) => described.has(id))).to.deep.equal([])
  })
})
