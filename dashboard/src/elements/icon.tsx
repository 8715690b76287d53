/** SVG paths in a 24 x 24 view box, drawn in the colour of the text. */
const paths = {
  overview: 'M4 20V10m6 10V4m6 16v-7m4 7H2',
  key: 'M15 7a4 4 0 1 1-3.5 5.9L9 15.5V18H6.5v2.5H3V17l6.1-6.1A4 4 0 0 1 15 7Zm.5 3.5h.01',
  requests: 'M4 6h16M4 12h16M4 18h10',
  models: 'm12 3 8 4.5v9L12 21l-8-4.5v-9L12 3Zm0 9 8-4.5M12 12v9m0-9L4 7.5',
  playground: 'M5 4h14v16H5zM9 9l6 3-6 3V9Z',
  connect: 'M9 15l6-6M8 11l-3 3a3.5 3.5 0 0 0 5 5l3-3m3-3 3-3a3.5 3.5 0 0 0-5-5l-3 3',
  applications: 'M4 4h7v7H4zm9 0h7v7h-7zM4 13h7v7H4zm9 0h7v7h-7z',
  settings:
    'M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6Zm8 3-2 .7-.7 1.7 1 1.9-1.9 1.9-1.9-1-1.7.8L12 20l-.7-2-1.7-.7-1.9 1-1.9-1.9 1-1.9L6 12.7 4 12l2-.7.7-1.7-1-1.9 1.9-1.9 1.9 1 1.7-.7L12 4l.7 2 1.7.7 1.9-1 1.9 1.9-1 1.9.8 1.8 2 .7Z',
  providers: 'M4 5h16v5H4zm0 9h16v5H4zm3-6.5h.01M7 16.5h.01',
  reconcile: 'M5 3h14v18l-3.5-2-3.5 2-3.5-2L5 21V3Zm4 5h6m-6 4h6',
  accounts:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Zm-6 9c0-3.3 2.7-6 6-6s6 2.7 6 6m1-16a3.5 3.5 0 0 1 0 7m2 3.3c1.8.9 3 2.6 3 5.7',
  webhook:
    'M12 7a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm0 0-4 8m-2 0a2 2 0 1 0 0 4 2 2 0 0 0 0-4Zm2 2h8m2-2a2 2 0 1 0 0 4 2 2 0 0 0 0-4Zm-1 .2L12.8 7',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  reference: 'M8 4c-4 0-1 8-5 8 4 0 1 8 5 8m8-16c4 0 1 8 5 8-4 0-1 8-5 8M10 12h4',
  check: 'm4 12.5 5 5L20 6.5',
  close: 'M6 6l12 12M18 6 6 18',
  menu: 'M4 6h16M4 12h16M4 18h16',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-8 8c0-4 3.6-6.5 8-6.5s8 2.5 8 6.5',
  picture: 'M4 5h16v14H4zM4 16l4.5-4.5 4 4 2.5-2.5 5 4M15.5 9h.01',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Zm5-1.5L21 21',
  system: 'M3 5h18v11H3zM9 20h6m-3-4v4',
  light:
    'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm0-14v2m0 16v2M2 12h2m16 0h2M5 5l1.4 1.4m11.2 11.2L19 19M5 19l1.4-1.4M17.6 6.4 19 5',
  dark: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z',
} as const

export type IconName = keyof typeof paths

/** An icon beside text with the same meaning, hidden from screen readers. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  )
}
