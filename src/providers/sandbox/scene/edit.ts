import { arrange } from './arrange.ts'
import { chanceFrom } from './chance.ts'
import { drawThings, openStage, type Scene } from './compose.ts'
import { readPrompt, type Idea } from './read-prompt.ts'
import { drawAskedSky, drawWeather } from './sky.ts'
import { shade, type Stage } from './stage.ts'
import { rect, type PictureSize } from './svg.ts'

type Request = PictureSize & { prompt: string; seed: number; covered: number }

/** What colours an edited picture: the light that was asked for, from top to bottom. */
const washes = {
  night: { colours: ['#070d2c', '#101c4c', '#0a1230'], opacity: 0.62 },
  sunset: { colours: ['#5a2a6a', '#e0605a', '#ffae5c'], opacity: 0.42 },
  dawn: { colours: ['#8a9ad0', '#f0b8a8', '#ffe0b8'], opacity: 0.38 },
  storm: { colours: ['#1c2838', '#4a5a6a', '#2c3a48'], opacity: 0.5 },
  snow: { colours: ['#c4d6e6', '#eef4f8', '#ffffff'], opacity: 0.4 },
  fog: { colours: ['#c9d2d8', '#e6eaec', '#d8dee2'], opacity: 0.55 },
  rain: { colours: ['#43566a', '#7a8a98', '#4a5a6a'], opacity: 0.38 },
  autumn: { colours: ['#e0a050', '#d07838', '#a85828'], opacity: 0.36 },
  spring: { colours: ['#f6c8d8', '#e8f0c0', '#b8dca0'], opacity: 0.34 },
  sun: { colours: ['#fff2b8', '#ffe08a', '#ffd070'], opacity: 0.3 },
} as const

/** Draws what a prompt adds to a picture: a light, weather, and things in front. */
export function drawEdit({ prompt, seed, covered, ...size }: Request): Scene {
  const chance = chanceFrom(prompt, seed)
  const idea = readPrompt(prompt)
  const stage = openStage(size, { idea, chance, covered })
  wash(stage, idea)
  drawAskedSky(stage, idea.sky, size.width * chance.between(0.2, 0.8))
  const edge = () => stage.base - stage.short * 0.2
  const water = { top: stage.horizon, bottom: stage.base }
  drawThings(stage, arrange(stage, idea, { edge, water, isHighLeft: false }), true)
  drawWeather(stage, idea.sky)
  const markup = `<defs>${stage.gradients.join('')}</defs>${stage.shapes.join('')}`
  return { markup, styles: idea.styles }
}

/** The light that is asked for; without anything known in the prompt, one that the seed picks. */
function wash(stage: Stage, { sky, things, styles }: Idea): void {
  const asked = (Object.keys(washes) as (keyof typeof washes)[]).filter((name) => sky.has(name))
  const isUnknown = sky.size + things.length + styles.size === 0
  const drawn = isUnknown ? [stage.chance.pick(['sunset', 'dawn', 'spring', 'autumn'])] : asked
  for (const name of drawn as (keyof typeof washes)[]) {
    const { colours, opacity } = washes[name]
    const { width, height } = stage
    stage.shapes.push(rect(0, 0, [width, height], shade(stage, colours), { opacity }))
  }
}
