import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import sharp from 'sharp'
import { makeFolder } from '../support/folder.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { picturesOf, postMessages, textOf, toolCall } from '../support/mcp-client.ts'
import { startUploading, type UploadingGateway } from '../support/upload-folder.ts'

const pngStart = Buffer.from([0x89, 0x50, 0x4e, 0x47])

describe('the file of generate-image-preview', () => {
  let uploading: UploadingGateway
  let gateway: TestGateway
  let outer: string
  let folder: string
  beforeEach(async () => {
    uploading = await startUploading({ clock: () => 1_763_640_000_000 })
    ;({ gateway, outer, folder } = uploading)
  })
  afterEach(() => uploading.stop())

  const preview = async (args: object = {}) => {
    const message = toolCall('generate-image-preview', { prompt: 'a fox', ...args })
    const { answer } = await postMessages(gateway, message)
    return answer.result!
  }

  it('is written with the requested name, and the answer contains its path', async () => {
    const answer = await preview({ filename: 'fox.png' })
    expect(textOf(answer)).to.contain(`Saved as ${join(folder, 'fox.png')}.`)
    expect(readdirSync(folder)).to.deep.equal(['fox.png'])
    const saved = readFileSync(join(folder, 'fox.png'))
    expect(saved.equals(picturesOf(answer)[0]!.bytes)).to.equal(true)
    expect(saved.subarray(0, 4).equals(pngStart)).to.equal(true)
  })

  it('is a PNG that is named by the time if no name is given', async () => {
    // The default model returns JPEGs.
    const answer = await preview()
    const name = 'image-preview-1763640000000.png'
    expect(readdirSync(folder)).to.deep.equal([name])
    expect(textOf(answer)).to.contain(`Saved as ${join(folder, name)}.`)
    const saved = readFileSync(join(folder, name))
    expect(saved.equals(picturesOf(answer)[0]!.bytes)).to.equal(true)
    expect(saved.subarray(0, 4).equals(pngStart)).to.equal(true)
  })

  it('never replaces another file', async () => {
    await preview({ filename: 'fox.png', prompt: 'one' })
    await preview({ filename: 'fox.png', prompt: 'two' })
    const three = await preview({ filename: 'fox.png', prompt: 'three' })
    expect(readdirSync(folder)).to.have.members(['fox.png', 'fox-2.png', 'fox-3.png'])
    expect(textOf(three)).to.contain('fox-3.png')
  })

  it('gets a unique name when many are generated at once', async () => {
    const prompts = Array.from({ length: 6 }, (_, index) => `fox ${index}`)
    await Promise.all(prompts.map((prompt) => preview({ filename: 'fox.png', prompt })))
    expect(readdirSync(folder)).to.have.length(6)
  })

  for (const [name, saved] of [
    ['fox.PNG', 'fox.PNG'],
    ['fox.jpeg', 'fox.jpeg'],
    ['fox.webp', 'fox.webp'],
    // The default model returns JPEGs.
    ['fox', 'fox.jpg'],
    ['fox.php', 'fox.jpg'],
    ['fox v1.2', 'fox v1.2.jpg'],
    ['狐狸.png', '狐狸.png'],
    ['CONSOLE.png', 'CONSOLE.png'],
  ] as const) {
    it(`is named ${saved} when ${name} is requested`, async () => {
      const answer = await preview({ filename: name })
      expect(readdirSync(folder)).to.deep.equal([saved])
      const { format } = await sharp(join(folder, saved)).metadata()
      expect(saved.replace('.jpg', '.jpeg').toLowerCase()).to.match(new RegExp(`\\.${format}$`))
      expect(picturesOf(answer)[0]!.mimeType).to.equal(`image/${format}`)
    })
  }

  const badNames = [
    '../x',
    'a/b',
    'a\\b',
    '..',
    '.',
    ' ',
    'C:x',
    'C:\\x.png',
    '/etc/passwd',
    '.hidden',
    'CON',
    'con.png',
    'Aux.tar.png',
    'COM1',
    'lpt².png',
    'x'.repeat(300),
    '狐'.repeat(100),
    'a\0b.png',
    'a\nb.png',
    'a\u202Egnp.exe',
    'a\u200b.png',
    'a\u2215b',
    'a\u2044b',
    'a\uff0fb',
    'a\uff3cb',
    'a\ufe68b',
    'a\u29f8b',
    'a\ud800b',
    'a*b',
    'a.png:stream',
    'fox.png.',
    'fox.png ',
    '\uff23\uff2f\uff2e',
  ]
  it('is refused before the generation if its name is invalid', async () => {
    for (const filename of badNames) {
      const answer = await preview({ filename })
      expect(answer.isError, JSON.stringify(filename)).to.equal(true)
      expect(textOf(answer)).to.contain("'filename'")
    }
    expect(await gateway.usage()).to.have.length(0)
    expect(readdirSync(folder)).to.have.length(0)
    expect(readdirSync(outer)).to.deep.equal(['uploads'])
  })

  it('does not follow a link with its name', async () => {
    const target = join(outer, 'precious')
    writeFileSync(target, 'precious')
    symlinkSync(target, join(folder, 'fox.png'))
    symlinkSync(join(outer, 'nowhere'), join(folder, 'owl.png'))
    await preview({ filename: 'fox.png' })
    await preview({ filename: 'owl.png' })
    expect(readFileSync(target, 'utf8')).to.equal('precious')
    expect(readdirSync(folder)).to.have.members(['fox.png', 'fox-2.png', 'owl.png', 'owl-2.png'])
    expect(readdirSync(outer)).to.have.members(['precious', 'uploads'])
  })

  it('is not generated when the folder is missing', async () => {
    rmSync(folder, { recursive: true })
    const answer = await preview({ filename: 'fox.png' })
    expect(answer.isError).to.equal(true)
    expect(textOf(answer)).to.contain('UPLOAD_DIR')
    expect(await gateway.usage()).to.have.length(0)
  })

  it('is not written through a link that replaced the folder', async () => {
    const elsewhere = join(outer, 'elsewhere')
    mkdirSync(elsewhere)
    renameSync(folder, `${folder}-old`)
    symlinkSync(elsewhere, folder)
    const answer = await preview({ filename: 'fox.png' })
    expect(answer.isError).to.equal(true)
    expect(readdirSync(elsewhere)).to.have.length(0)
  })
})

describe('an upload folder without write permission', () => {
  it('causes no paid generation', async () => {
    // Uses /proc, where not even root can create a file.
    const gateway = await startGateway({ variables: { UPLOAD_DIR: '/proc' } })
    try {
      const message = toolCall('generate-image-preview', { prompt: 'x', filename: 'fox.png' })
      const { answer } = await postMessages(gateway, message)
      const refused = answer.result!.isError === true
      const pictures = picturesOf(answer.result!).length
      // Depending on the system, the check before the call fails, or only the creation of the file.
      expect(refused || pictures === 1).to.equal(true)
      expect(textOf(answer.result!)).to.match(/upload folder .*cannot be written/)
    } finally {
      await gateway.stop()
    }
  })

  it('may be a link that the operator configured', async () => {
    const outer = makeFolder()
    mkdirSync(join(outer.path, 'real'))
    symlinkSync(join(outer.path, 'real'), join(outer.path, 'link'))
    const gateway = await startGateway({ variables: { UPLOAD_DIR: join(outer.path, 'link') } })
    try {
      const message = toolCall('generate-image-preview', { prompt: 'x', filename: 'fox.png' })
      await postMessages(gateway, message)
      expect(readdirSync(join(outer.path, 'real'))).to.deep.equal(['fox.png'])
    } finally {
      await gateway.stop()
      outer.remove()
    }
  })
})
