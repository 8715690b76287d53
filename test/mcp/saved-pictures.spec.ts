import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { picturesOf, postMessages, textOf, toolCall } from '../support/mcp-client.ts'
import { startUploading, type UploadingGateway } from '../support/upload-folder.ts'

const editor = 'bytedance/seedream-4-5'

describe('a saved picture as input of a tool', () => {
  let uploading: UploadingGateway
  let gateway: TestGateway
  let outer: string
  let folder: string
  beforeEach(async () => {
    uploading = await startUploading()
    ;({ gateway, outer, folder } = uploading)
  })
  afterEach(() => uploading.stop())

  const called = async (tool: string, args: object, by: TestGateway = gateway, key?: string) => {
    const init = key === undefined ? {} : { key }
    const { answer } = await postMessages(by, toolCall(tool, args), init)
    return answer.result!
  }
  const saved = async (filename = 'fox.png', by = gateway, key?: string) => {
    const result = await called('generate-image-preview', { prompt: 'a fox', filename }, by, key)
    const [, handle] = /Pass '(.+)' to a tool to use this picture\./.exec(textOf(result))!
    return { handle: handle!, path: join(folder, handle!.split(':')[2]!) }
  }
  const edited = (handle: string, by?: TestGateway, key?: string) =>
    called('generate-image', { prompt: 'a hat', model: editor, images: [handle] }, by, key)
  const expectRefused = async (handle: string, key?: string) => {
    const result = await edited(handle, gateway, key)
    expect(result.isError, textOf(result)).to.equal(true)
    expect(textOf(result)).to.match(
      /^'images\[0\]': No picture of this account is saved under this handle/,
    )
  }

  it('is edited by generate-image and chat, in every form of a picture argument', async () => {
    const { handle } = await saved()
    const result = await edited(handle)
    expect(picturesOf(result), textOf(result)).to.have.length(1)
    for (const image_url of [handle, { url: handle }]) {
      const content = [
        { type: 'text', text: 'a hat' },
        { type: 'image_url', image_url },
      ]
      const args = { model: editor, messages: [{ role: 'user', content }] }
      const answer = await called('chat', args)
      expect(picturesOf(answer), textOf(answer)).to.have.length(1)
    }
  })

  it('has a unique handle, also with a counter in its name', async () => {
    const handles = [await saved(), await saved('fox.png')].map(({ handle }) => handle)
    expect(handles.map((one) => one.split(':')[2])).to.deep.equal(['fox.png', 'fox-2.png'])
    for (const handle of handles) expect(picturesOf(await edited(handle))).to.have.length(1)
  })

  it('is accepted by another process of the gateway', async () => {
    const { handle } = await saved()
    const other = await startGateway({ beside: gateway, variables: { UPLOAD_DIR: folder } })
    try {
      const result = await edited(handle, other, gateway.testKey)
      expect(picturesOf(result), textOf(result)).to.have.length(1)
    } finally {
      await other.stop()
    }
  })

  it('is not accepted from another account', async () => {
    const key = await gateway.createKey('test', { accountId: await gateway.createAccount() })
    const { handle } = await saved()
    await expectRefused(handle, key)
    const { handle: own } = await saved('own.png', gateway, key)
    await expectRefused(own)
  })

  it('is refused by its bare name, with a made-up seal, or outside of the folder', async () => {
    const { handle } = await saved()
    const [, seal] = handle.split(':')
    writeFileSync(join(outer, 'secret.png'), 'x')
    writeFileSync(join(folder, 'other.png'), 'x')
    for (const forged of [
      `saved:${'A'.repeat(22)}:fox.png`,
      `saved:${seal}:other.png`,
      `saved:${seal}:../secret.png`,
      `saved:${seal}:..`,
      `saved:${seal}:.`,
      `saved:${seal}:`,
      `saved:${seal}:/etc/passwd`,
      `saved:${seal}:fox.png\0`,
      'saved:fox.png',
      `saved:${'A'.repeat(100_000)}`,
    ]) {
      await expectRefused(forged)
    }
    const bare = await edited('fox.png')
    expect(textOf(bare)).to.contain('not an https address')
  })

  it('is refused after another file got its name', async () => {
    const { handle, path } = await saved()
    writeFileSync(path, 'changed')
    await expectRefused(handle)
    rmSync(path)
    await expectRefused(handle)
    mkdirSync(path)
    await expectRefused(handle)
  })

  it('is refused through a link', async () => {
    const { handle, path } = await saved()
    const moved = join(outer, 'moved.png')
    renameSync(path, moved)
    symlinkSync(moved, path)
    await expectRefused(handle)
  })

  it('is closed again if stat fails', async () => {
    const { handle, path } = await saved()
    const file = await open(path)
    const prototype = Object.getPrototypeOf(file) as FileHandle
    await file.close()
    const { stat } = prototype
    const opened: FileHandle[] = []
    prototype.stat = async function fail(this: FileHandle) {
      opened.push(this)
      throw new Error('EIO')
    }
    try {
      await expectRefused(handle)
    } finally {
      prototype.stat = stat
    }
    expect(opened.map(({ fd }) => fd)).to.deep.equal([-1])
  })

  it('is refused without an upload folder', async () => {
    const { handle } = await saved()
    const other = await startGateway()
    try {
      expect(textOf(await edited(handle, other))).to.contain('has no upload folder (UPLOAD_DIR)')
    } finally {
      await other.stop()
    }
  })
})
