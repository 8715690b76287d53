import { expect } from 'chai'
import fc from 'fast-check'
import sharp from 'sharp'
import { drawScene } from '../../../src/providers/sandbox/scene/compose.ts'
import { readPrompt } from '../../../src/providers/sandbox/scene/read-prompt.ts'
import { drawings } from '../../../src/providers/sandbox/scene/things/index.ts'
import {
  colourWords,
  placeWords,
  skyWords,
  styleWords,
  thingWords,
} from '../../../src/providers/sandbox/scene/words.ts'

const { fontConfigurationFile } =
  await import('../../../src/providers/sandbox/font-configuration.ts')
const { renderPicture } = await import('../../../src/providers/sandbox/render.ts')
process.env['FONTCONFIG_FILE'] = fontConfigurationFile

const red = '#d8413a'
const black = '#2e2e38'
const blue = '#3f7fd0'

/** What was read of a prompt, in few words: `2 cat #colour@side`, places and sky by name. */
function read(prompt: string): string[] {
  const { things, places, sky, styles } = readPrompt(prompt)
  const named = [...places, ...sky].map(([name, colour]) => [name, colour].join(' ').trim())
  return [
    ...things.map(({ name, colour = '', count = 'some', side }) =>
      `${count} ${name} ${colour}${side === undefined ? '' : `@${side}`}`.trim(),
    ),
    ...named,
    ...styles,
  ]
}

const cases: Record<string, string[]> = {
  'A lighthouse in a storm': ['1 lighthouse', 'storm'],
  'a red house by the sea at night': [`1 house ${red}`, 'sea', 'night'],
  'two cats and a dog': ['2 cat', '1 dog'],
  'three big blue birds': [`3 bird ${blue}`],
  cats: ['some cat'],
  'a red sky over black mountains': [`mountain ${black}`, `sky ${red}`],
  'red car, house': [`1 car ${red}`, '1 house'],
  'a cat on the left and a dog on the right': ['1 cat @left', '1 dog @right'],
  'two pine trees': ['2 pine'],
  'a girl in a red dress and a dog': [`1 woman ${red}`, '1 dog'],
  'a dog house': ['1 house'],
  'a cup of coffee': ['1 cup'],
  'ein rotes Haus und zwei Katzen am Meer': [`1 house ${red}`, '2 cat', 'sea'],
  'un chat noir et trois maisons rouges': [`1 cat ${black}`, `3 house ${red}`],
  'dos gatos negros y un barco azul': [`2 cat ${black}`, `1 boat ${blue}`],
  夜晚海边的一座红色房子和两只猫: [`1 house ${red}`, '2 cat', 'sea', 'night'],
  'watercolor of a fox': ['1 fox', 'watercolour'],
  'a black and white photo of a tree': ['1 tree', 'grey'],
  'thoughts about justice': [],
  '': [],
}

const words = [thingWords, placeWords, skyWords, styleWords, colourWords].flatMap((list) =>
  Object.values(list).flatMap((line) => line.split(' ')),
)
const prompt = fc.oneof(
  fc.array(fc.constantFrom(...words), { maxLength: 12 }).map((some) => some.join(' ')),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.tuple(fc.constantFrom(...words), fc.string()).map(([word, text]) => `${word} ${text}</svg>`),
)
const side = fc.integer({ min: 16, max: 400 })

describe('what the sandbox reads in a prompt', () => {
  for (const [text, wanted] of Object.entries(cases)) {
    it(text === '' ? 'nothing' : text, () => {
      expect(read(text)).to.deep.equal(wanted)
    })
  }

  it('is bounded, however long the prompt', () => {
    const { things } = readPrompt('nine red cats '.repeat(80_000))
    expect(things.length).to.be.at.most(8)
  })

  it('has a drawing for each thing', () => {
    expect(Object.keys(drawings).toSorted()).to.deep.equal(Object.keys(thingWords).toSorted())
  })
})

describe('the pictures of the sandbox', function () {
  this.timeout(20_000)

  it('are of the asked size and format for any prompt', () =>
    fc.assert(
      fc.asyncProperty(
        prompt,
        fc.nat(),
        side,
        side,
        fc.constantFrom('png' as const, 'jpeg' as const, 'webp' as const),
        async (text, seed, width, height, format) => {
          const picture = await renderPicture({ prompt: text, seed, width, height, format })
          const made = await sharp(picture).metadata()
          expect(made).to.include({ format, width, height })
        },
      ),
      { numRuns: 60 },
    ))

  it('have no number that is none, and a bounded markup', () => {
    fc.assert(
      fc.property(prompt, fc.nat(), side, side, (text, seed, width, height) => {
        const { markup } = drawScene({ prompt: text, seed, width, height, covered: 10 })
        expect(markup).to.not.match(/NaN|undefined|Infinity|null/)
        expect(markup.length).to.be.below(400_000)
      }),
      { numRuns: 200 },
    )
  })

  it('hold nothing of the prompt itself', () => {
    const prompt = 'a cat <script>alert(1)</script> </svg>'
    const { markup } = drawScene({ prompt, seed: 1, width: 200, height: 200, covered: 0 })
    expect(markup).to.not.include('script').and.to.not.include('</svg>')
  })

  it('have the colour that was asked for, and another without', async () => {
    const share = async (text: string) => {
      const request = { prompt: text, seed: 3, width: 256, height: 256, format: 'png' as const }
      const { data } = await sharp(await renderPicture(request))
        .raw()
        .toBuffer({ resolveWithObject: true })
      let found = 0
      for (let at = 0; at < data.length; at += 3) {
        const [r = 0, g = 0, b = 0] = data.subarray(at, at + 3)
        if (r > 150 && g < 110 && b < 110) found += 1
      }
      return found / (data.length / 3)
    }
    expect(await share('a red house')).to.be.above(0.06)
    expect(await share('a green house')).to.be.below(0.02)
  })

  it('are darker at night', async () => {
    const brightness = async (text: string) => {
      const request = { prompt: text, seed: 3, width: 128, height: 128, format: 'png' as const }
      const { channels } = await sharp(await renderPicture(request)).stats()
      return channels.reduce((sum, { mean }) => sum + mean, 0)
    }
    expect(await brightness('a house at night')).to.be.below((await brightness('a house')) / 1.6)
  })

  it('are grey when black and white is asked for', async () => {
    const request = { prompt: 'a red fox, black and white', seed: 3, width: 96, height: 96 }
    const { channels } = await sharp(await renderPicture({ ...request, format: 'png' })).stats()
    const means = channels.map(({ mean }) => mean)
    expect(Math.max(...means) - Math.min(...means)).to.be.below(6)
  })

  it('are made of squares when pixel art is asked for', async () => {
    const request = { prompt: 'pixel art castle', seed: 3, width: 880, height: 880 }
    const { data, info } = await sharp(await renderPicture({ ...request, format: 'png' }))
      .raw()
      .toBuffer({ resolveWithObject: true })
    const pixel = (x: number, y: number) => data.readUIntBE((y * info.width + x) * info.channels, 3)
    for (let x = 0; x < 700; x += 10) {
      for (let y = 0; y < 500; y += 10) expect(pixel(x, y)).to.equal(pixel(x + 9, y + 9))
    }
  })

  it('differ by seed in where things stand', () => {
    const scenes = [1, 2, 3, 4, 5, 6].map((seed) => {
      const size = { width: 512, height: 512, covered: 40 }
      return drawScene({ prompt: 'a red house by the sea', seed, ...size }).markup
    })
    expect(new Set(scenes).size).to.equal(scenes.length)
  })
})
