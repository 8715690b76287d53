import { effect, signal } from '@preact/signals'

const stored = 'gateway_theme'
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

/** The colours that the reader chose in this browser; `system` follows the operating system. */
export const theme = signal<Theme>(
  themes.find((one) => one === localStorage.getItem(stored)) ?? 'system',
)

export function chooseTheme(chosen: Theme): void {
  localStorage.setItem(stored, chosen)
  theme.value = chosen
}

effect(() => {
  document.documentElement.dataset['theme'] = theme.value
})
