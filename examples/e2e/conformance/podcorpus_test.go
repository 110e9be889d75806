package conformance

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func containerCorpus() changes {
	first := func(change func(*corev1.Container)) func(*corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) { change(&t.Spec.Containers[0]) }
	}
	return changes{
		"probes": first(func(c *corev1.Container) {
			c.LivenessProbe = &corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
					Path: "/healthz?a=1&b=<2>", Port: intstr.FromInt32(8080), Scheme: corev1.URISchemeHTTPS,
					HTTPHeaders: []corev1.HTTPHeader{{Name: "X", Value: "y"}},
				}},
				InitialDelaySeconds: 1, PeriodSeconds: 10, TerminationGracePeriodSeconds: new(int64(5)),
			}
			c.ReadinessProbe = &corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("http")}}}
			c.StartupProbe = &corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9090, Service: new("")}}}
		}),
		"lifecycle": first(func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{
				PostStart: &corev1.LifecycleHandler{
					Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "echo $A > /dev/null && true"}}},
				PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 3}},
			}
		}),
		"environment": first(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{
				{Name: "EMPTY"}, {Name: "TEXT", Value: "$(EMPTY) <&>"},
				{Name: "NODE",
					ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1",
						FieldPath: "spec.nodeName"}}},
				{Name: "CPU",
					ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu",
						Divisor: resource.MustParse("1m")}}},
				{Name: "NO_DIVISOR",
					ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
				{Name: "SECRET",
					ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k", Optional: new(true)}}},
			}
			c.EnvFrom = []corev1.EnvFromSource{{Prefix: "P_",
				ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}}
		}),
		"ports": first(func(c *corev1.Container) {
			c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 80, HostPort: 8080, HostIP: "127.0.0.1",
				Protocol: corev1.ProtocolUDP}, {}}
		}),
		"security context": first(func(c *corev1.Container) {
			c.SecurityContext = &corev1.SecurityContext{
				Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}, Drop: []corev1.Capability{"ALL"}},
				Privileged:   new(true), ProcMount: new(corev1.DefaultProcMount),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost,
					LocalhostProfile: new("profiles/a.json")},
				SELinuxOptions: &corev1.SELinuxOptions{Level: "s0:c123,c456"},
			}
		}),
		"mounts and devices": first(func(c *corev1.Container) {
			c.VolumeMounts = []corev1.VolumeMount{{
				Name: "v", MountPath: "/v", SubPathExpr: "$(POD_NAME)", MountPropagation: new(corev1.MountPropagationBidirectional),
				ReadOnly: true, RecursiveReadOnly: new(corev1.RecursiveReadOnlyIfPossible),
			}}
			c.VolumeDevices = []corev1.VolumeDevice{{Name: "d", DevicePath: "/dev/xvda"}}
			c.ResizePolicy = []corev1.ContainerResizePolicy{
				{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired}}
		}),
		"init and sidecar": func(t *corev1.PodTemplateSpec) {
			sidecar := t.Spec.Containers[0]
			sidecar.Name, sidecar.RestartPolicy = "sidecar", new(corev1.ContainerRestartPolicyAlways)
			t.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "i", Command: []string{}}, sidecar}
		},
	}
}

func podCorpus() changes {
	return changes{
		"where": func(t *corev1.PodTemplateSpec) {
			t.Spec.NodeName, t.Spec.NodeSelector = "n1", map[string]string{"b": "2", "a": "1"}
			t.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists},
				{Key: "k", TolerationSeconds: new(int64(0))}}
			t.Spec.Affinity = requiring(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "cores", Operator: corev1.NodeSelectorOpGt, Values: []string{"3"}}},
				MatchFields: []corev1.NodeSelectorRequirement{
					{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"n2"}}},
			}}})
			t.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{},
				MinDomains: new(int32(1)),
			}}
		},
		"host": func(t *corev1.PodTemplateSpec) {
			t.Spec.HostNetwork, t.Spec.HostPID, t.Spec.HostIPC, t.Spec.HostUsers = true, true, true, new(false)
			t.Spec.HostAliases = []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"a", "b"}}}
			t.Spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net.core.somaxconn", Value: "1024"}}
		},
		"identity": func(t *corev1.PodTemplateSpec) {
			t.Spec.ServiceAccountName, t.Spec.DeprecatedServiceAccount = "sa", "sa"
			t.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}, {}}
			t.Spec.RuntimeClassName, t.Spec.PriorityClassName, t.Spec.PreemptionPolicy = new("gvisor"), "system-node-critical",
				new(corev1.PreemptNever)
		},
		"overhead, gates, claims": func(t *corev1.PodTemplateSpec) {
			t.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.1")}
			t.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
			t.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("t")}}
			t.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/ready"}}
			t.Spec.OS = &corev1.PodOS{Name: corev1.Linux}
		},
		"names of its own": func(t *corev1.PodTemplateSpec) {
			t.Spec.DNSConfig = &corev1.PodDNSConfig{Nameservers: []string{"1.1.1.1"},
				Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: new("5")}, {Name: "edns0"}}}
			t.Spec.Hostname, t.Spec.Subdomain, t.Spec.SetHostnameAsFQDN = "h", "s", new(true)
			t.Spec.ShareProcessNamespace = new(true)
		},
	}
}

// volumeCorpus has one template for each kind of volume that the API knows,
// found by reflection, so that none is forgotten: its source empty, and a few
// filled in.
func volumeCorpus() changes {
	all := changes{}
	kinds := reflect.TypeFor[corev1.VolumeSource]()
	for i := range kinds.NumField() {
		all["volume "+kinds.Field(i).Name] = func(t *corev1.PodTemplateSpec) {
			volume := corev1.Volume{Name: "v"}
			reflect.ValueOf(&volume.VolumeSource).Elem().Field(i).Set(reflect.New(kinds.Field(i).Type.Elem()))
			t.Spec.Volumes = []corev1.Volume{volume}
		}
	}
	all["volumes with contents"] = func(t *corev1.PodTemplateSpec) {
		t.Spec.Volumes = []corev1.Volume{
			{Name: "host",
				VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/log",
					Type: new(corev1.HostPathUnset)}}},
			{Name: "memory",
				VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory,
					SizeLimit: new(resource.MustParse("0.5Gi"))}}},
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				DefaultMode: new(int32(0o644)), Items: []corev1.KeyToPath{{Key: "k", Path: "p", Mode: new(int32(0))}},
				Optional: new(false),
			}}},
			{Name: "all",
				VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "a", ExpirationSeconds: new(int64(3607)),
						Path: "token"}},
					{DownwardAPI: &corev1.DownwardAPIProjection{
						Items: []corev1.DownwardAPIVolumeFile{{Path: "labels",
							FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}}},
				}}}},
			{Name: "claim",
				VolumeSource: corev1.VolumeSource{
					Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
						Spec: corev1.PersistentVolumeClaimSpec{
							AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod},
							Resources: corev1.VolumeResourceRequirements{
								Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1e3")}},
						},
					}}}},
		}
	}
	return all
}
