/** Topics of settings that one worker has read and all go on with. */
export const settingsTopics = {
  /** A worker asks that all go on with settings; answered when they do, or did not in time. */
  share: 'share_settings',
  /** The primary asks a worker to go on with settings. */
  apply: 'apply_settings',
} as const
