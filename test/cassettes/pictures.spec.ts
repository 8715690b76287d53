import { expect } from 'chai'
import type OpenAI from 'openai'
import { exported, prompt, recording, replaying, startPlayer } from '../support/cassettes.ts'
import type { TestGateway } from '../support/gateway.ts'
import { endedJob, startJob } from '../support/image-jobs.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { pixel } from '../support/pixel.ts'

describe('keys with a cassette, for pictures,', () => {
  let house: ImageVendors
  let player: TestGateway
  let others: ImageVendors
  before(async () => {
    house = await startImageVendors({ vendors: ['bfl'] })
    others = await startImageVendors({ vendors: ['openai', 'ideogram'] })
    player = await startPlayer()
  })
  after(async () => {
    await house.stop()
    await others.stop()
    await player.stop()
  })

  it('replay pictures of a vendor with tasks, without its signed addresses', async () => {
    house.doubles.bfl.workFor(2)
    const make = (client: OpenAI) => client.images.generate({ model: 'bfl/flux-2-pro', prompt })
    const live = await make(await recording(house.gateway, 'tasks'))
    const replay = await replaying({ recorder: house.gateway, player }, 'tasks')
    expect((await make(replay)).data![0]!.b64_json).to.equal(live.data![0]!.b64_json)
    const text = JSON.stringify(await exported(house.gateway, 'tasks'))
    expect(text)
      .to.include('/pictures/')
      .and.not.to.match(/Signature|Expires/)
    expect(text).not.to.include(house.doubles.bfl.url)
    const key = await player.createKey('test', { row: { cassette: 'tasks' } })
    const job = await startJob(player, { model: 'bfl/flux-2-pro', prompt }, { key })
    expect((await endedJob(player, job.id, key)).status).to.equal('completed')
  })

  it('replay several pictures and the form of an edit', async () => {
    const make = async (client: OpenAI, gateway: TestGateway) => {
      const key = String(client.apiKey)
      const made = await client.images.generate({ model: 'gpt-image-2', prompt, n: 3 })
      const images = [{ image_url: pixel }]
      const edit = { model: 'ideogram/ideogram-4-5-precise-edit', prompt, images }
      const response = await gateway.post('/v1/images/edits', edit, { key })
      const text = await response.text()
      expect(response.status, text).to.equal(200)
      const { data } = JSON.parse(text) as typeof made
      return [...made.data!, ...data!].map(({ b64_json: base64 }) => base64)
    }
    const client = await recording(others.gateway, 'pictures')
    const live = await make(client, others.gateway)
    const replay = await replaying({ recorder: others.gateway, player }, 'pictures')
    expect(await make(replay, player)).to.have.members(live)
    const { interactions } = await exported(others.gateway, 'pictures')
    const forms = interactions.flatMap(({ request }) => request.body?.['form'] ?? [])
    const fields = forms as { name: string; value: string }[]
    expect(fields.find((one) => one.name === 'prompt')?.value).to.equal(prompt)
    expect(fields.at(-1)?.value).to.match(/^sha256:[0-9a-f]{64}$/)
  })
})
