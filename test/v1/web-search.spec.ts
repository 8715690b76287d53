import type Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import type OpenAI from 'openai'
import { anthropicClient } from '../support/anthropic-client.ts'
import { readMessageEvents, orderComplaints } from '../support/message-events.ts'
import { openAiClient } from '../support/openai-client.ts'
import { checkResponseEvents } from '../support/response-events.ts'
import {
  cited,
  pages,
  searched,
  searchVendors,
  startSearchHouse,
  text,
  type SearchHouse,
} from '../support/web-search.ts'

type Body = Record<string, unknown>
type Priced = { cost: number; cost_status: string; cost_details: Body }
type SearchCall = OpenAI.Responses.ResponseFunctionWebSearch

const question = 'How many boats are there?'

describe('a search of the web by the vendor', () => {
  let house: SearchHouse
  let openai: OpenAI
  let anthropic: Anthropic
  before(async () => {
    house = await startSearchHouse()
    openai = openAiClient(house.gateway, house.gateway.liveKey)
    anthropic = anthropicClient(house.gateway)
  })
  after(() => house.stop())

  /** The lines of the last call in the ledger, as the API of the account shows them. */
  const lastRecord = async () => {
    const { id, cost_nano_usd: nanoUsd } = (await house.gateway.usage()).at(-1)!
    const response = await house.gateway.fetch(`/api/requests/${id}`, {
      key: house.gateway.adminKey,
    })
    const { cost } = (await response.json()) as { cost: { lines: Body[]; exact_usd: string } }
    return { nanoUsd, ...cost }
  }

  for (const vendor of searchVendors) {
    const { id, model, searches, searchesNanoUsd, tokensNanoUsd } = vendor
    const paid = async (usage: unknown) => {
      const { cost, cost_status, cost_details: details } = usage as Priced
      const { nanoUsd, lines, exact_usd } = await lastRecord()
      expect(nanoUsd).to.equal(tokensNanoUsd + searchesNanoUsd)
      expect(Number(exact_usd)).to.equal(nanoUsd! / 1e9)
      expect([cost, cost_status]).to.deep.equal([nanoUsd! / 1e9, 'exact'])
      expect(details).to.include({ web_searches: searches })
      expect(details['usd_per_web_search']).to.equal(searchesNanoUsd / searches / 1e9)
      const line = lines.find(({ what }) => what === 'web_searches')!
      expect(line).to.include({ units: searches })
      expect(Number(line['amount'])).to.equal(searchesNanoUsd / 1e9)
    }

    for (const stream of [false, true]) {
      describe(`by ${model}, ${stream ? 'streamed' : 'whole'}`, () => {
        it('gives the chat API sources, and costs each search', async () => {
          const sent = house.says(searched)
          const asked = {
            model,
            messages: [{ role: 'user' as const, content: question }],
            web_search_options: {},
          }
          const answer = stream
            ? await openai.chat.completions
                .stream({ ...asked, stream_options: { include_usage: true } })
                .finalChatCompletion()
            : await openai.chat.completions.create(asked)
          const [choice] = answer.choices
          const { content, annotations, ...message } = choice!.message
          expect(content).to.equal(text)
          const citations = annotations!.map(({ url_citation: one }) => one)
          expect(citations).to.deep.equal(cited)
          const { start_index: from, end_index: to } = citations[0]!
          expect(text.slice(from, to)).to.equal('Two boats 🚤🚤 lie in the harbour')
          const { web_searches: found } = message as unknown as { web_searches: Body[] }
          if (!stream) {
            const queries = found.map(({ query }) => query)
            expect(queries).to.deep.equal(['boats in the harbour', 'tide today'])
          }
          await paid(answer.usage)
          expect(sent).to.have.length(1)
        })

        it('is a call of the Responses API, with events, sources and its number', async () => {
          const sent = house.says(searched)
          const asked = {
            model,
            input: question,
            tools: [{ type: 'web_search' as const }],
            include: ['web_search_call.action.sources' as const],
          }
          if (stream) {
            const response = await house.gateway.post(
              '/v1/responses',
              { ...asked, stream },
              { key: house.gateway.liveKey },
            )
            checkResponseEvents(await response.text())
          }
          const answer: OpenAI.Responses.Response = stream
            ? await openai.responses.stream(asked).finalResponse()
            : await openai.responses.create(asked)
          const calls = answer.output.filter((one): one is SearchCall => {
            return one.type === 'web_search_call'
          })
          expect(calls.map(({ action }) => action.type === 'search' && action.query)).to.deep.equal(
            ['boats in the harbour', 'tide today'],
          )
          expect(JSON.stringify(calls)).to.contain(pages.tides.url)
          const messages = answer.output.filter((one) => one.type === 'message')
          const parts = messages.flatMap(({ content }) => content)
          expect(answer.output_text).to.equal(text)
          const annotations = parts.flatMap((part) => {
            return part.type === 'output_text' ? part.annotations : []
          })
          expect(annotations).to.deep.equal(cited.map((one) => ({ type: 'url_citation', ...one })))
          expect(answer).to.have.nested.property('tool_usage.web_search.num_requests', searches)
          await paid(answer.usage)
          if (id === 'openai') expect(sent.at(-1)).to.include({ max_tool_calls: 10 })
        })

        it('is two blocks of the Messages API, with citations and its number', async () => {
          house.says(searched)
          const asked: Anthropic.MessageCreateParamsNonStreaming = {
            model,
            max_tokens: 1000,
            messages: [{ role: 'user', content: question }],
            tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8 }],
            tool_choice: { type: 'tool', name: 'web_search' },
          }
          // The client leaves the cost of a stream out.
          let told: unknown
          if (stream) {
            const response = await house.gateway.post(
              '/v1/messages',
              { ...asked, stream },
              { key: house.gateway.liveKey },
            )
            const events = readMessageEvents(await response.text())
            expect(orderComplaints(events)).to.deep.equal([])
            told = events.find(({ type }) => type === 'message_delta')
          }
          const answer = stream
            ? await anthropic.messages.stream(asked).finalMessage()
            : await anthropic.messages.create(asked)
          const uses = answer.content.filter((block) => block.type === 'server_tool_use')
          const results = answer.content.filter((block) => block.type === 'web_search_tool_result')
          expect(results.map((one) => one.tool_use_id)).to.deep.equal(uses.map((one) => one.id))
          expect(uses.map(({ input }) => input)).to.deep.equal([
            { query: 'boats in the harbour' },
            { query: 'tide today' },
          ])
          const said = answer.content.filter((block) => block.type === 'text')
          expect(said.map((block) => block.text).join('')).to.equal(text)
          const citations = said.flatMap((block) => block.citations ?? [])
          expect(citations.map((one) => 'url' in one && one.url)).to.deep.equal([
            pages.harbour.url,
            pages.tides.url,
          ])
          expect(answer.usage.server_tool_use).to.include({ web_search_requests: searches })
          expect(JSON.stringify(answer)).not.to.match(/EqgfCioI|Eo8BCioI/)
          await paid(stream ? (told as { usage: unknown }).usage : answer.usage)
        })
      })
    }
  }
})
