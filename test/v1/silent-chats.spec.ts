import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { expectError } from '../support/expect-error.ts'

const user = (content: unknown) => ({ role: 'user', content })
const rows = [
  { name: 'an empty text', messages: [user('')], at: 0 },
  { name: 'a blank part', messages: [user([{ type: 'text', text: ' \n' }])], at: 0 },
  {
    name: 'no content in any message',
    messages: [
      { role: 'system', content: ' ' },
      user('\t'),
      { role: 'assistant', content: '', refusal: '' },
    ],
    at: 1,
  },
]

describe('a chat without content', () => {
  let house: VendorGateway
  before(async () => (house = await startVendorGateway()))
  after(() => house.stop())

  for (const { name, messages, at } of rows) {
    it(`is refused before any provider is called: ${name}`, async () => {
      for (const { id, model } of chatVendors) {
        house.upstreams[id].answer(() => {
          throw new Error(`${id} was asked.`)
        })
        const response = await house.gateway.post(
          '/v1/chat/completions',
          { model, messages },
          { key: house.gateway.liveKey },
        )
        const param = `messages[${at}].content`
        await expectError(response, { status: 400, code: 'invalid_value', param })
      }
    })
  }
})
