import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Bounds } from '../../src/settings/bounds.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { picturesOf, postMessages, textOf, toolCall } from '../support/mcp-client.ts'

describe('the limits of the upload folder', () => {
  let folder: TemporaryFolder
  let gateway: TestGateway
  let passed: number
  beforeEach(() => {
    folder = makeFolder()
    passed = 0
  })
  afterEach(async () => {
    await gateway.stop()
    folder.remove()
  })

  const start = async (bounds: Partial<Bounds> = {}, limits: Record<string, number> = {}) => {
    const variables = { UPLOAD_DIR: folder.path }
    gateway = await startGateway({ variables, file: { limits }, bounds, monotonic: () => passed })
  }
  /** Calls the preview tool; returns the text of its result. The result must contain the picture. */
  const preview = async (prompt: string) => {
    const message = toolCall('generate-image-preview', { prompt, filename: 'fox.png' })
    const { answer } = await postMessages(gateway, message)
    expect(answer.result!.isError).to.not.equal(true)
    expect(picturesOf(answer.result!)).to.have.length(1)
    return textOf(answer.result!)
  }
  const files = () => readdirSync(folder.path)

  it('hold for the number of files, also for concurrent pictures', async () => {
    await start({ uploadFilesMax: 3 })
    const prompts = Array.from({ length: 8 }, (_, index) => `fox ${index}`)
    const texts = await Promise.all(prompts.map(preview))
    expect(files()).to.have.members(['fox.png', 'fox-2.png', 'fox-3.png'])
    const refused = texts.filter((text) => !text.includes('Saved as'))
    expect(refused).to.have.length(5)
    for (const text of refused) {
      expect(text).to.contain(
        'Not saved: the upload folder is full: it may have at most 3 files. Its operator has to remove files.',
      )
    }
  })

  it('count existing files, and notice that the operator removed files', async () => {
    for (const name of ['one', 'two']) writeFileSync(join(folder.path, name), name)
    await start({ uploadFilesMax: 2 })
    expect(await preview('one')).to.contain('Not saved: the upload folder is full')
    rmSync(join(folder.path, 'two'))
    passed += 1000
    expect(await preview('two')).to.contain('Saved as')
    expect(files()).to.have.members(['one', 'fox.png'])
  })

  it('hold for the number of bytes', async () => {
    writeFileSync(join(folder.path, 'large'), Buffer.alloc(900_000))
    await start({}, { upload_bytes_max: 4_000_000 })
    expect(await preview('one')).to.contain('Saved as')
    const one = statSync(join(folder.path, 'fox.png')).size
    const texts = []
    for (let count = 900_000 + one; count < 4_000_000; count += one) {
      texts.push(await preview(`fox ${count}`))
    }
    const full = 'the upload folder is full: it may have at most 4000000 bytes (upload_bytes_max)'
    expect(texts.at(-1)! + (await preview('more'))).to.contain(full)
    const sizes = files().map((name) => statSync(join(folder.path, name)).size)
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.be.within(900_001, 4_000_000)
  })

  it('apply to complete files: none has its name before it is completely written', async () => {
    await start()
    const over = new AbortController()
    const look = async () => {
      const cut: string[] = []
      while (!over.signal.aborted) {
        for (const name of files()) {
          if (name.endsWith('.tmp')) continue
          const picture = readFileSync(join(folder.path, name))
          // A complete PNG ends with the chunk IEND.
          if (picture.subarray(-8, -4).toString() !== 'IEND') cut.push(name)
        }
        await new Promise(setImmediate)
      }
      return cut
    }
    const looking = look()
    await Promise.all(Array.from({ length: 8 }, (_, index) => preview(`fox ${index}`)))
    over.abort()
    expect(await looking).to.deep.equal([])
    expect(files()).to.have.length(8)
  })

  it('do not count temporary files of a crash, which are removed', async () => {
    const left = '.0b5b0d53-3e4a-4b0e-9f0e-0d2e5c1a7f11.tmp'
    for (const name of [left, '.mine.tmp', 'a.png']) writeFileSync(join(folder.path, name), 'half')
    await start()
    await preview('one')
    expect(files()).to.have.members(['.mine.tmp', 'a.png', 'fox.png'])
  })
})
