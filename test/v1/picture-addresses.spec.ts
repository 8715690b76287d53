import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'

const pictured = (url: string) => [
  { role: 'user', content: [{ type: 'image_url', image_url: { url } }] },
]
const sentUrl = ({ upstream }: OwnEndpoint) => {
  const { messages } = upstream.requests.at(-1)!.body as { messages: ReturnType<typeof pictured> }
  return messages[0]!.content[0]!.image_url.url
}

/** URLs that name an internal address. */
const inside = [
  'https://127.0.0.1:8080/a.png',
  'https://127.1/a.png',
  'https://0x7f000001/a.png',
  'https://2130706433/a.png',
  'https://017700000001/a.png',
  'https://①②⑦.0.0.1/a.png',
  'https://127。0。0。1/a.png',
  'https://%31%32%37.0.0.1/a.png',
  'https://127.0.0.1./a.png',
  'https:127.0.0.1/a.png',
  'https:\\\\127.0.0.1\\a.png',
  'https:///127.0.0.1/a.png',
  'ht\ntps://127.0.0.1/a.png',
  'https://user:password@127.0.0.1/a.png',
  'https://example.com@127.0.0.1/a.png',
  'https://[::1]/a.png',
  'https://[::ffff:7f00:1]/a.png',
  'https://[64:ff9b::a00:1]/a.png',
  'https://[fe80::1]/a.png',
  'https://[fd00::1]/a.png',
  'https://0/a.png',
  'https://10.0.0.1/a.png',
  'https://172.16.0.1/a.png',
  'https://192.168.1.1/a.png',
  'https://169.254.169.254/latest/meta-data',
  'https://100.100.100.200/a.png',
  'https://localhost/a.png',
  'https://LOCALHOST./a.png',
  'https://ｌｏｃａｌｈｏｓｔ/a.png',
  'https://a.localhost/a.png',
  'https://vllm:8000/a.png',
  'https://metadata.google.internal/a.png',
  'https://printer.local/a.png',
  'https://files.corp/a.png',
  'https://router.home.arpa/a.png',
  'https://vllm.default.svc/a.png',
  'https://vllm.default.svc.cluster.local./a.png',
]

describe('the URL of a picture, for a server that fetches it', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint({ own: { fetches_images: true } })
    own.upstream.answer(completion('A fox.'))
  })
  after(() => own.stop())

  for (const url of inside) {
    it(`is refused and not passed on: ${JSON.stringify(url)}`, async () => {
      const before = own.upstream.requests.length
      const error = await expectError(await own.chat({ messages: pictured(url) }), {
        status: 400,
        code: 'invalid_value',
        param: 'messages[0].content[0].image_url.url',
      })
      if (!url.startsWith('ht\n')) expect(error.message).to.contain('The address is not public.')
      expect(own.upstream.requests).to.have.length(before)
    })
  }

  it('is refused among pictures that a model drew', async () => {
    const drawn = { type: 'image_url', image_url: { url: 'https://10.0.0.1/a.png' } }
    const messages = [
      { role: 'assistant', content: 'Here.', images: [drawn] },
      { role: 'user', content: 'Again.' },
    ]
    await expectError(await own.chat({ messages }), {
      status: 400,
      code: 'invalid_value',
      param: 'messages[0].images[0].image_url.url',
    })
  })

  const outside = [
    ['https://example.com/a.png?x=1&y=%2F#z', 'https://example.com/a.png?x=1&y=%2F#z'],
    ['https://8.8.8.8:8443/a.gif', 'https://8.8.8.8:8443/a.gif'],
    ['https://[2606:4700::1111]/a.png', 'https://[2606:4700::1111]/a.png'],
    // Some URL parsers take the text after the @ as the host.
    ['https://example.com\\@127.0.0.1/a.png', 'https://example.com/@127.0.0.1/a.png'],
    ['https://exam\tple.com/a.png', 'https://example.com/a.png'],
    ['https://①.1.1.1/a.png', 'https://1.1.1.1/a.png'],
  ] as const
  for (const [url, sent] of outside) {
    it(`is passed on as it was checked: ${JSON.stringify(url)}`, async () => {
      const response = await own.chat({ messages: pictured(url) })
      expect(response.status).to.equal(200)
      expect(sentUrl(own)).to.equal(sent)
    })
  }

  const documents = [
    { file_data: 'https://10.0.0.1/a.pdf' },
    { file_data: ' FILE:///etc/passwd' },
    { file_id: 'https://10.0.0.1/a.pdf' },
    { file_id: 'gs://bucket/a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
  ]
  for (const file of documents) {
    it(`is refused for a document: ${JSON.stringify(file)}`, async () => {
      const before = own.upstream.requests.length
      const messages = [{ role: 'user', content: [{ type: 'file', file }] }]
      const { message } = await expectError(await own.chat({ messages }), {
        status: 400,
        code: 'invalid_value',
      })
      expect(message).to.contain('Documents are not fetched from URLs.')
      expect(own.upstream.requests).to.have.length(before)
    })
  }
})

describe('the URL of a picture, for a server without a setting', () => {
  let own: OwnEndpoint
  let host: PublicHost
  before(async () => {
    host = await startPublicHost()
    own = await startOwnEndpoint({ publicNet: host.net })
    own.upstream.answer(completion('A fox.'))
  })
  after(async () => {
    await own.stop()
    await host.stop()
  })

  it('is fetched by the gateway, which sends the picture', async () => {
    host.serve('/a.png', Buffer.from(pixel.split(',')[1]!, 'base64'))
    const response = await own.chat({ messages: pictured(host.address('/a.png')) })
    expect(response.status).to.equal(200)
    expect(sentUrl(own)).to.equal(pixel)
  })

  it('is refused when its host resolves to an internal address', async () => {
    host.resolve('trick.public.example', ['127.0.0.1'])
    const before = own.upstream.requests.length
    const url = host.address('/a.png', 'trick.public.example')
    await expectError(await own.chat({ messages: pictured(url) }), {
      status: 400,
      code: 'invalid_value',
      param: 'messages[0].content[0].image_url.url',
    })
    expect(host.insideConnections()).to.equal(0)
    expect(own.upstream.requests).to.have.length(before)
  })
})
