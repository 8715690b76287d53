import { expect } from 'chai'
import sharp from 'sharp'
import { completion } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'

const small = await paint({ width: 64, height: 48, format: 'png', number: 3 })
// Large enough to be cut out of a body before it is parsed.
const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const
const large = await sharp({
  create: { width: 120, height: 90, channels: 3, background: '#888', noise },
})
  .png()
  .toBuffer()
const model = 'own/house-1'

const inLines = (text: string, end: string) => text.replaceAll(/.{76}/g, `$&${end}`) + end
const escaped = (text: string) => text.replaceAll(/[+/=]/g, encodeURIComponent)

/** How programs write base64, as data URLs. */
const spellings: Record<string, (text: string) => string> = {
  'lines of GNU base64': (text) => `data:image/png;base64,${inLines(text, '\n')}`,
  'lines of Windows': (text) => `data:image/png;base64,${inLines(text, '\r\n')}`,
  'one line break at the end': (text) => `data:image/png;base64,${text}\n`,
  'lines of 60 letters of Ruby': (text) =>
    `data:image/png;base64,${text.replaceAll(/.{60}/g, '$&\n')}\n`,
  'escapes of Python': (text) => `data:image/png;base64,${escaped(text)}`,
  'small escapes': (text) =>
    `data:image/png;base64,${escaped(text).replaceAll(/%../g, (one) => one.toLowerCase())}`,
  'escaped line breaks': (text) => `data:image/png;base64,${escaped(inLines(text, '%0A'))}`,
  'no padding': (text) => `data:image/png;base64,${text.replace(/=+$/, '')}`,
  'the URL-safe alphabet': (text) =>
    `data:image/png;base64,${text.replaceAll('+', '-').replaceAll('/', '_')}`,
  'a space before base64': (text) => `data:image/png; base64,${text}`,
  'a head in capitals': (text) => `DATA:image/PNG;BASE64,${text}`,
}

describe('the base64 of a picture', () => {
  let own: OwnEndpoint
  before(async () => (own = await startOwnEndpoint({ limits: { cache_ttl_seconds: 0 } })))
  after(() => own.stop())

  const post = (path: string, body: object) =>
    own.gateway.post(path, { model, ...body }, { key: own.gateway.liveKey })
  const apis: Record<string, (url: string) => Promise<Response>> = {
    'a chat': (url) => {
      const content = [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url } },
      ]
      return post('/v1/chat/completions', { messages: [{ role: 'user', content }] })
    },
    'a message': (url) => {
      const data = url.slice(url.indexOf(',') + 1)
      const source = { type: 'base64', media_type: 'image/png', data }
      const content = [
        { type: 'text', text: 'What is it?' },
        { type: 'image', source },
      ]
      return post('/v1/messages', { max_tokens: 99, messages: [{ role: 'user', content }] })
    },
    'a response': (url) => {
      const content = [
        { type: 'input_text', text: 'What is it?' },
        { type: 'input_image', image_url: url },
      ]
      return post('/v1/responses', { input: [{ role: 'user', content }] })
    },
  }
  for (const [api, ask] of Object.entries(apis)) {
    for (const [name, spell] of Object.entries(spellings)) {
      it(`reaches a vendor in its plain form from ${api}: ${name}`, async () => {
        for (const file of [small, large]) {
          own.upstream.answer(completion('A fox.'))
          const text = file.toString('base64')
          const response = await ask(spell(text))
          expect(response.status, await response.text()).to.equal(200)
          const { body } = own.upstream.requests[0]!
          expect(JSON.stringify(body)).to.include(`"url":"data:image/png;base64,${text}"`)
        }
      })
    }
  }

  for (const [name, spell] of Object.entries(spellings)) {
    it(`is an input of an edit: ${name}`, async () => {
      for (const file of [small, large]) {
        const b64_json = small.toString('base64')
        own.upstream.answer({ body: { created: 1, data: [{ b64_json }] } })
        const images = [{ image_url: spell(file.toString('base64')) }]
        const response = await post('/v1/images/edits', { prompt: 'a hat', images })
        expect(response.status, await response.text()).to.equal(200)
        expect(own.upstream.requests[0]!.bytes.includes(file)).to.equal(true)
      }
    })
  }

  const text = small.toString('base64')
  const broken: Record<string, string> = {
    'a letter too many': text.slice(0, -3),
    'letters after the padding': `${text.replace(/=*$/, '')}=AAA`,
    'an escape of another letter': text.replace('A', '%00'),
    'an unfinished escape': `${text.slice(0, -4)}%4`,
    'a letter of another alphabet': text.replace('A', 'Ł'),
    'three padding letters': `${text.slice(0, -3)}===`,
  }
  for (const [name, wrong] of Object.entries(broken)) {
    it(`is refused with ${name}`, async () => {
      for (const base64 of [wrong, inLines(wrong, '\n')]) {
        const response = await apis['a chat']!(`data:image/png;base64,${base64}`)
        const param = 'messages[0].content[1].image_url.url'
        const { message } = await expectError(response, {
          status: 400,
          code: 'invalid_value',
          param,
        })
        expect(message).to.include('is not in base64')
      }
    })
  }
})
